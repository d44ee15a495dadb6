#!/bin/sh
# kill -9 under load (QO_KILLS times, 5; a full run has 100), a full disk and
# a read-only one.
exec /usr/bin/python3 tests/integration/store_crash.py
