#!/bin/sh
# The S3 API of qo-store, request by request.
exec /usr/bin/python3 tests/integration/store_api.py
