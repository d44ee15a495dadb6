#!/bin/sh
# The life of processes under qod: crashes, signals, ends.
exec python3 tests/integration/qod_super.py
