#!/bin/sh
# Another configuration, another binary, without a gap.
exec python3 tests/integration/qod_reload.py
