#!/bin/sh
# qod from the command line to ready, and every way not to get there.
exec python3 tests/integration/qod_start.py
