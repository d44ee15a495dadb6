#!/bin/sh
# tools/deps.sh when it has nothing to do, and when it can do nothing: it
# must then name what is missing and change nothing.
set -u
failures=0

ok() {
	echo "ok $1"
}

fail() {
	echo "not ok $1: $2"
	failures=$((failures + 1))
}

# Without root's rights, and with no way to sudo.
powerless() {
	if [ "$(id -u)" -eq 0 ]; then
		setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
	else
		"$@"
	fi
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 143' INT TERM
# The powerless can enter neither the tree nor, by its path, this directory:
# all names below are relative to it.
cp tools/deps.sh "$tmp"
chmod 755 "$tmp"
mkdir "$tmp/empty"
cd "$tmp" || exit 1

if out=$(./deps.sh build 2>&1) && [ -z "$out" ]; then
	ok nothing_missing
else
	fail nothing_missing "$out"
fi

# A sudo that always refuses, so that no test ever installs anything.
mkdir bin
printf '#!/bin/sh\nexit 1\n' >bin/sudo
chmod 755 bin bin/sudo
PATH=bin:$PATH
PKG_CONFIG_LIBDIR=empty
export PATH PKG_CONFIG_LIBDIR

printf 'ID=debian\nVERSION_CODENAME=bookworm\n' >debian
printf 'ID=other\n' >other
chmod 644 debian other

if ! command -v apt-get >/dev/null; then
	echo "skip no_rights: this system has no apt"
elif out=$(powerless env OS_RELEASE=./debian ./deps.sh build 2>&1 </dev/null)
then
	fail no_rights "it claims success: $out"
else
	case $out in
	*libcurl4-openssl-dev*libyyjson-dev*libsqlite3-dev*) ok no_rights ;;
	*) fail no_rights "$out" ;;
	esac
fi

if out=$(powerless env OS_RELEASE=./other ./deps.sh build 2>&1 </dev/null); then
	fail other_system "it claims success: $out"
else
	case $out in
	*'missing:'*libcurl*yyjson*SQLite*) ok other_system ;;
	*) fail other_system "$out" ;;
	esac
fi

if out=$(./deps.sh nonsense 2>&1); then
	fail unknown_group "accepted"
else
	ok unknown_group
fi

[ $failures -eq 0 ]
