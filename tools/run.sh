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

# The configuration, for qod and for qo when it is called in this directory.
# It is the user's to change once it is there.
write_conf() {
	[ ! -e run/qod.conf ] ||
	    head -n 1 run/qod.conf | grep -q 'in the directory above' || return 0
	{
		echo "; what qo and qod read here; written by tools/run.sh"
		echo "[qod]"
		# Whoever runs this as root has chosen to.
		[ "$(id -u)" != 0 ] || echo "allow_root = yes"
		echo "pidfile = $PWD/run/qod.pid"
		echo "control = $PWD/run/qod.sock"
		echo "[store]"
		echo "data = $PWD/run/store"
		echo "keys_file = $PWD/run/keys"
		echo "; handlers, one file each"
		echo "include = handlers.d/*.conf"
	} >run/qod.conf
}

if [ ! -x "$bin/qo-store" ]; then
	echo "run: no program is there yet, nothing to start" >&2
	exit 1
fi
mkdir -p run
write_conf
if [ -x "$bin/qod" ] && [ -x "$bin/qo-monitor" ] && [ -x "$bin/qo-worker" ]
then
	echo "run: starting qod with run/qod.conf; $bin/qo talks to it from here"
	exec "$bin/qod" -f run/qod.conf "$@"
fi
echo "run: starting the store; $bin/qo init makes the queue in it," \
    "its access key is in run/keys"
exec "$bin/qo-store" -f run/qod.conf "$@"
