#!/bin/sh
# qo-worker with the real store, command line and handlers.
exec /usr/bin/python3 tests/integration/worker.py
