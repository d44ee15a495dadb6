#!/bin/sh
# qod with the real roles and real tasks: nothing is lost, nothing done twice.
exec python3 tests/integration/qod_real.py
