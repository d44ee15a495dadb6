#!/bin/sh
# One line for each event, and no secret in any of them.
exec /usr/bin/python3 tests/integration/qod_secrets.py
