#!/bin/sh
# run.sh - start what is built, in the foreground, on the embedded store.
#
#	tools/run.sh BUILD_DIR [option...]
#
# All state is under ./run, so that a clone can be thrown away as a whole.
# Options go to the program.
set -eu

bin=$1/bin
shift
umask 077
[ ! -e conf/qod.conf ] || set -- -f conf/qod.conf "$@"

if [ -x "$bin/qod" ]; then
	mkdir -p run
	QO_STORE_DATA="$PWD/run/store" QO_STORE_KEYS_FILE="$PWD/run/keys" \
	    exec "$bin/qod" "$@"
fi
if [ -x "$bin/qo-store" ]; then
	mkdir -p run
	echo "run: the queue is not there yet; starting the store alone," \
	    "its access key is in run/keys"
	exec "$bin/qo-store" -d run/store -k run/keys "$@"
fi
echo "run: no program is there yet, nothing to start" >&2
exit 1
