#!/bin/sh
# qo worker, which becomes a qo-worker.
exec /usr/bin/python3 tests/integration/cli_worker.py
