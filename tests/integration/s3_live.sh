#!/bin/sh
# The S3 client against a real qo-store, or against another store: see
# s3_live.c.
exec "$B/tests/integration/s3_live" "$B/bin/qo-store"
