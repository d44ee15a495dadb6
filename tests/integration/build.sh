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
trap 'exit 143' INT TERM
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
# What a user looks for, where it is looked for.
missing=
for f in usr/bin/qo usr/sbin/qo-store etc/qo/qod.conf \
    usr/share/man/man1/qo.1 usr/share/man/man5/qod.conf.5 \
    usr/share/man/man7/qo-layout.7 usr/share/man/man8/qo-store.8 \
    usr/share/bash-completion/completions/qo \
    usr/share/zsh/site-functions/_qo \
    usr/share/fish/vendor_completions.d/qo.fish \
    usr/lib/systemd/system/qod.service usr/lib/systemd/system/qod@.service \
    usr/lib/sysusers.d/qo.conf usr/share/qo/systemd/accounts.conf \
    usr/lib/libqo.a usr/include/qo/qo.h usr/lib/pkgconfig/qo.pc \
    usr/share/qo/examples/sh/wordcount.sh; do
	[ -s "dest/$f" ] || missing="$missing $f"
done
for p in build/bin/*; do
	[ -n "$(find dest/usr -name "$(basename "$p")" -type f -perm 755)" ] ||
	    missing="$missing $(basename "$p")"
done
if [ -n "$missing" ]; then
	fail installed_files "missing:$missing"
elif grep -rn '@[A-Z]*DIR@\|/usr/local/\(etc\|share\|libexec/qo\)' dest/usr/lib/systemd \
    dest/usr/share/man >log; then
	fail installed_files "$(head -n 1 log)"
else
	ok installed_files
fi

# Its conf is read, by the master and by the command line.  The account that
# it names is not on every machine that builds.
if ! dest/usr/bin/qo -c dest/etc/qo/qod.conf config show >log 2>&1; then
	fail installed_conf "$(head -n 1 log)"
elif [ -x dest/usr/sbin/qod ] && ! QO_QOD_USER=$(id -un) \
    QO_QOD_ALLOW_ROOT=yes dest/usr/sbin/qod -n -f dest/etc/qo/qod.conf \
    >log 2>&1; then
	fail installed_conf "$(head -n 1 log)"
else
	ok installed_conf
fi

if command -v man >/dev/null; then
	missing=
	for p in dest/usr/share/man/man*/*; do
		p=$(basename "$p")
		man -M "$tmp/dest/usr/share/man" -w "${p##*.}" "${p%.*}" \
		    >/dev/null 2>&1 || missing="$missing $p"
	done
	if [ -z "$missing" ]; then
		ok manual_found
	else
		fail manual_found "man -w does not find$missing"
	fi
else
	echo "skip manual_found: no man(1)"
fi

# What bash would offer behind these words, the last of them unfinished.
completes() {
	bash --norc --noprofile -c '
	    . "$0" || exit 1
	    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
	    _qo
	    echo "${COMPREPLY[*]}"' \
	    dest/usr/share/bash-completion/completions/qo "$@" 2>&1
}
if [ "$(completes qo ctl rel)" != reload ]; then
	fail completion_bash "qo ctl rel: $(completes qo ctl rel)"
elif [ "$(completes qo -c x.conf top --int)" != --interval ]; then
	fail completion_bash "qo top --int: $(completes qo -c x top --int)"
else
	ok completion_bash
fi

# The units, with their programs where they are now.
if command -v systemd-analyze >/dev/null; then
	mkdir -p units
	for u in dest/usr/lib/systemd/system/*; do
		sed "s|=/usr/|=$tmp/dest/usr/|" "$u" >"units/$(basename "$u")"
	done
	[ -x dest/usr/sbin/qod ] || cp dest/usr/bin/qo dest/usr/sbin/qod
	systemd-analyze verify --man=no "$tmp/units/qod.service" \
	    "$tmp/units/qod@a.service" >log 2>&1 && [ ! -s log ]
	status=$?
	[ -x build/bin/qod ] || rm -f dest/usr/sbin/qod
	if [ $status -eq 0 ]; then
		ok units
	else
		fail units "$(head -n 1 log)"
	fi
	# What they leave open, in tenths; the drop-in has its price.
	exposure() {
		systemd-analyze security --offline=yes --no-pager \
		    --threshold="$1" "$tmp/units/$2.service" >log 2>&1 &&
		    return
		tail -n 1 log >log.1 && mv log.1 log
		false
	}
	exposure 20 qod && exposure 20 qod@a
	status=$?
	for u in qod qod@; do
		mkdir "units/$u.service.d"
		cp dest/usr/share/qo/systemd/accounts.conf \
		    "units/$u.service.d"
	done
	if [ $status -ne 0 ]; then
		fail exposure "$(head -n 1 log)"
	elif exposure 22 qod; then
		fail exposure "the drop-in changes nothing: $(tail -n 1 log)"
	elif exposure 26 qod && exposure 26 qod@a; then
		ok exposure
	else
		fail exposure "$(head -n 1 log)"
	fi
else
	echo "skip units: no systemd-analyze"
	echo "skip exposure: no systemd-analyze"
fi

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
