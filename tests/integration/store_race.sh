#!/bin/sh
# 20 parallel conditional PUTs on one key: exactly one wins each round.
# QO_ROUNDS rounds (500; CI may run fewer), versioned and not.
exec /usr/bin/python3 tests/integration/store_race.py
