#!/bin/sh
# qo ctl and qo top, on pipes and on a terminal.
exec /usr/bin/python3 tests/integration/cli_top.py
