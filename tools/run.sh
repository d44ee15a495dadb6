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
	[ -e run/qod.conf ] || printf '%s\n' \
	    "; what qo reads in the directory above; written by tools/run.sh" \
	    "[store]" "data = $PWD/run/store" "keys_file = $PWD/run/keys" \
	    >run/qod.conf
	echo "run: starting the store; $bin/qo init makes the queue in it," \
	    "its access key is in run/keys"
	exec "$bin/qo-store" -d run/store -k run/keys "$@"
fi
echo "run: no program is there yet, nothing to start" >&2
exit 1
