#!/bin/sh
# qo schedule.
exec /usr/bin/python3 tests/integration/cli_schedule.py
