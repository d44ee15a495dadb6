#!/bin/sh
# install.sh - put files in place, or take exactly those away again.
#
#	tools/install.sh put|remove DESTDIR MODE:SOURCE:DESTINATION...
#
# MODE "conf" is a file that its user changes: it never overwrites one that
# is there, and is removed only when it is still as it was installed.
set -eu

action=$1
destdir=$2
shift 2

put() {
	mkdir -p "$(dirname "$3")"
	if [ "$1" != conf ]; then
		install -m "$1" "$2" "$3"
	elif [ -e "$3" ]; then
		echo "install: $3 is there already, left alone"
	else
		install -m 0644 "$2" "$3"
	fi
}

# Goes up as long as directories are empty: to ours outside of a staging
# directory, whose other directories were all made by put.
prune() {
	dir=$(dirname "$1")
	while [ -n "$destdir" ] && [ "$dir" != "${destdir%/}" ] ||
	    [ "$(basename "$dir")" = qo ]; do
		rmdir "$dir" 2>/dev/null || return 0
		dir=$(dirname "$dir")
	done
}

remove() {
	if [ "$1" = conf ] && [ -e "$3" ] && ! cmp -s "$2" "$3"; then
		echo "uninstall: $3 was changed, left alone"
		return 0
	fi
	rm -f "$3"
	prune "$3"
}

for entry; do
	mode=${entry%%:*}
	rest=${entry#*:}
	"$action" "$mode" "${rest%%:*}" "$destdir${rest#*:}"
done
