#!/bin/sh
# The commands of qo that look: status, why, wait, list, tail, history, logs,
# stats, workers.
exec /usr/bin/python3 tests/integration/cli_read.py
