#!/bin/sh
# The build itself: rebuilds what must be and nothing else, installs and
# removes the same files.  Works on a copy of the tree.
set -u
failures=0

ok() {
	echo "ok $1"
}

fail() {
	echo "not ok $1: $2"
	failures=$((failures + 1))
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
tar -c --exclude='./build*' --exclude=./.git --exclude=./run . |
    tar -x -C "$tmp"
cd "$tmp" || exit 1
# Not the flags and jobs of the make that runs the tests.
unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS CI SAN FUZZ FAULTS
build() {
	make -j2 CFLAGS=-O0 "$@"
}

if build >log 2>&1; then
	ok parallel_build
else
	fail parallel_build "$(tail -n 3 log)"
	exit 1
fi

# make -q: 0 when all is up to date.
if build -q; then
	ok nothing_to_do
else
	fail nothing_to_do "a second make would $(build -n | head -n 1)"
fi

# Crash points are for test builds.
if nm build/libqo.a build/bin/* | grep -q 'fault_point'; then
	fail no_crash_points "fault_point is in what would be installed"
else
	ok no_crash_points
fi

# What includes buf.h is asked of the compiler again, not of the .d files
# that the build itself relies on.
includes_buf() {
	find build -name '*.o' | sort | while read -r o; do
		c=${o#build/}
		c=${c%.o}.c
		# shellcheck disable=SC2046  # flags are words
		cc -D_GNU_SOURCE -DQO_VERSION='""' -Ilib -MM \
		    $(pkg-config --cflags libcurl yyjson libbsd-overlay) \
		    "$c" | grep -q 'lib/buf\.h' && echo "$o"
	done
}
includes_buf >want
touch lib/buf.h stamp
build >log 2>&1
find build -name '*.o' -newer stamp | sort >got
if [ ! -s want ]; then
	fail touched_header "no source includes lib/buf.h"
elif cmp -s want got && [ -n "$(find build/libqo.a -newer stamp)" ]; then
	ok touched_header
else
	fail touched_header "$(diff want got)"
fi
if build -q; then
	ok nothing_to_do_after_rebuild
else
	fail nothing_to_do_after_rebuild "$(build -n | head -n 1)"
fi

if make -q CFLAGS='-O0 -g'; then
	fail changed_flags "nothing would be built again"
else
	ok changed_flags
fi

build install DESTDIR="$tmp/dest" PREFIX=/usr SYSCONFDIR=/etc >log 2>&1
status=$?
installed=$(find dest -type f 2>/dev/null | wc -l)
built=$(find build/bin conf man -type f 2>/dev/null | wc -l)
if [ $status -ne 0 ]; then
	fail install "$(tail -n 1 log)"
elif [ "$built" -gt 0 ] && [ "$installed" -eq 0 ]; then
	fail install "nothing was installed: $(tail -n 1 log)"
elif find dest -type f 2>/dev/null | grep -Evq '^dest/(usr|etc/qo)/'; then
	fail install "outside of PREFIX and SYSCONFDIR: $(find dest -type f)"
else
	ok install
fi
# A handler of somebody else, with what pkg-config says of the installed tree,
# needs nothing but libc.  The header is fit for C++.
export PKG_CONFIG_PATH="$tmp/dest/usr/lib/pkgconfig"
export PKG_CONFIG_SYSROOT_DIR="$tmp/dest" PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
mkdir -p elsewhere
cp dest/usr/share/qo/examples/c/longest.c elsewhere
outside() {
	compiler=$1
	shift
	# shellcheck disable=SC2046  # flags are words
	(cd elsewhere && $compiler -Wall -Wextra -Werror -pedantic "$@" \
	    $(pkg-config --cflags --libs --static qo)) >log 2>&1
}
if ! outside cc -o longest longest.c; then
	fail outside_program "$(head -n 3 log)"
elif [ "$(echo '{"file":"/dev/null"}' | elsewhere/longest 2>log)" != \
    '{"lines":0,"line":0,"length":0}' ]; then
	fail outside_program "$(head -n 3 log)"
elif ldd elsewhere/longest | grep -Ev 'linux-vdso|libc\.so|ld-linux' >log; then
	fail outside_program "needs $(cat log)"
elif nm elsewhere/longest | grep ' [TBDR] ' |
    grep -Ev ' (qo_.*|_.*|main|std(in|out|err)@.*)$' >log; then
	fail outside_program "takes the names $(cat log)"
else
	ok outside_program
fi
printf '%s\n' '#include <qo.h>' \
    'static void run(qo_job *job, void *) { qo_complete(job, "%d", 7); }' \
    'int main() { return qo_serve(run, nullptr); }' >elsewhere/h.cc
if ! command -v c++ >/dev/null; then
	echo "skip outside_cxx: no C++ compiler"
elif outside c++ -o h h.cc && [ "$(elsewhere/h </dev/null)" = 7 ]; then
	ok outside_cxx
else
	fail outside_cxx "$(head -n 3 log)"
fi
unset PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_ALLOW_SYSTEM_LIBS
make CFLAGS=-O0 uninstall DESTDIR="$tmp/dest" PREFIX=/usr SYSCONFDIR=/etc \
    >log 2>&1
if [ -z "$(find dest -mindepth 1 2>/dev/null)" ]; then
	ok uninstall
else
	fail uninstall "left $(find dest -mindepth 1)"
fi
# A configuration that its user changed stays.
mkdir -p src
echo ours >src/a.conf
tools/install.sh put dest conf:src/a.conf:/etc/qo/a.conf
echo theirs >dest/etc/qo/a.conf
tools/install.sh put dest conf:src/a.conf:/etc/qo/a.conf >/dev/null
tools/install.sh remove dest conf:src/a.conf:/etc/qo/a.conf >/dev/null
if [ "$(cat dest/etc/qo/a.conf)" = theirs ]; then
	ok changed_conf_stays
else
	fail changed_conf_stays "overwritten or removed"
fi

make help >help.out
# Names with a slash are files that the Makefile only treats so.
phony=$(make -pn | sed -n 's/^\.PHONY: //p' | tr ' ' '\n' | grep -v / | sort -u)
missing=
for t in $phony; do
	grep -q "^$t " help.out || missing="$missing $t"
done
if [ -n "$phony" ] && [ -z "$missing" ]; then
	ok help
else
	fail help "not named:$missing"
fi

[ $failures -eq 0 ]
