#!/bin/sh
# Who may do what in qo-store: keys, owners, ACLs, sessions, CORS.
exec /usr/bin/python3 tests/integration/store_auth.py
