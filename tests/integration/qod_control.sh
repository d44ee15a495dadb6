#!/bin/sh
# qod's control socket, by way of qo ctl and without manners.
exec /usr/bin/python3 tests/integration/qod_control.py
