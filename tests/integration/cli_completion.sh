#!/bin/sh
# Completion of qo in real shells: what they offer when Tab is pressed.
exec /usr/bin/python3 tests/integration/cli_completion.py
