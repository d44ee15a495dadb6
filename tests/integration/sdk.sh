#!/bin/sh
# What writers of handlers get: qo_serve(), the modules for Python and Node,
# the examples.
exec /usr/bin/python3 tests/integration/sdk.py
