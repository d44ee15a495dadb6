#!/bin/sh
# qo-store's long poll, its lifecycle rules, its ends and its idleness.
exec /usr/bin/python3 tests/integration/store_wait.py
