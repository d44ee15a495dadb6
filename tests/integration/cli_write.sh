#!/bin/sh
# The commands of qo that change tasks: submit, cancel, replay, archive,
# unarchive, bench.
exec /usr/bin/python3 tests/integration/cli_write.py
