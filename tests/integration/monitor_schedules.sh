#!/bin/sh
# Schedules, with two real monitors.
exec /usr/bin/python3 tests/integration/monitor_schedules.py
