#!/bin/sh
# Time zones and cron expressions against Python's zoneinfo.
exec /usr/bin/python3 tests/integration/tz.py
