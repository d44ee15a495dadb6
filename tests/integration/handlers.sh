#!/bin/sh
# Handlers under the real worker: the examples, those of qo-handler(7), and
# all that a handler can do wrong.
exec /usr/bin/python3 tests/integration/handlers.py
