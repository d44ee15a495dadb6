#!/bin/sh
# run.sh - start what is built, in the foreground, on the embedded store.
#
#	tools/run.sh BUILD_DIR
#
# All state is under ./run, so that a clone can be thrown away as a whole.
set -eu

bin=$1/bin
umask 077
if [ -x "$bin/qod" ]; then
	mkdir -p run
	exec "$bin/qod" -f conf/qod.conf
fi
if [ -x "$bin/qo-store" ]; then
	mkdir -p run
	echo "run: the queue itself is not built yet; starting qo-store alone," \
	    "data in run/store"
	exec "$bin/qo-store" -f conf/qod.conf
fi
echo "run: no program is built yet, there is nothing to start" >&2
exit 1
