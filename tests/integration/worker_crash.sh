#!/bin/sh
# qo-worker killed at every point of every request.
exec /usr/bin/python3 tests/integration/worker_crash.py
