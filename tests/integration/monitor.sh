#!/bin/sh
# qo-monitor with the real store, qo and qo-worker.
exec /usr/bin/python3 tests/integration/monitor.py
