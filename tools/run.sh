#!/bin/sh
# run.sh - start what is built, in the foreground, on the embedded store.
#
#	tools/run.sh BUILD_DIR
#
# All state is under ./run, so that a clone can be thrown away as a whole;
# QO_SECTION_KEY variables of the caller's outrank what is set here.
set -eu

bin=$1/bin
export QO_STORE_DATA="${QO_STORE_DATA:-$PWD/run/store}"
export QO_STORE_KEYS_FILE="${QO_STORE_KEYS_FILE:-$PWD/run/keys}"
umask 077
shift
[ ! -e conf/qod.conf ] || set -- -f conf/qod.conf

if [ -x "$bin/qod" ]; then
	mkdir -p run
	exec "$bin/qod" "$@"
fi
if [ -x "$bin/qo-store" ]; then
	mkdir -p run
	echo "run: the queue is not there yet; starting the store alone," \
	    "data and keys in run/"
	exec "$bin/qo-store" "$@"
fi
echo "run: no program is there yet, nothing to start" >&2
exit 1
