#!/bin/sh
# Checks 28 to 40 of the security checklist, and the wire facts, on qo-store.
exec /usr/bin/python3 tests/integration/store_security.py
