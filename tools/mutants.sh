#!/bin/bash
# mutants.sh - break the rules one at a time: does a test notice?
#
#	tools/mutants.sh [PATCH...]
#
# Each patch in tests/mutants breaks one rule.  Its head says which, and which
# tests are to notice: `rule: TEXT' and `tests: PROGRAM[:CASE]...', programs of
# tests/unit, CASE one of Check's test cases.  They are run in that order until
# one fails.  A patch that does not apply, one that does not compile, and a
# mutant that no test notices are failures.  Works on a copy of the tracked
# files.
set -u
export LC_ALL=C
unset MAKEFLAGS MFLAGS MAKELEVEL SAN FUZZ FAULTS CK_RUN_CASE

limit=${MUTANT_TIMEOUT:-180}	# seconds for one test
jobs=$(nproc)
[ $# -gt 0 ] || set -- tests/mutants/*.patch
patches=$(realpath "$@") || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
git ls-files -z | tar -c --null -T - | tar -x -C "$tmp"
cd "$tmp" || exit 1

field() {
	sed -n "s/^$1: //p" "$2"
}

programs() {
	local t
	for t in $(field tests "$1"); do
		echo "build/tests/unit/${t%%:*}"
	done | sort -u
}

build() {
	make -s -j"$jobs" all "$@" >log 2>&1
}

# The first line in which a test says what is wrong.
complaint() {
	grep -m 1 -E ':[FE]:' out || tail -n 1 out
}

# Runs the tests of a patch; 0 when one of them failed.
noticed() {
	local t rc
	for t in $(field tests "$1"); do
		case $t in
		*:*) export CK_RUN_CASE=${t#*:} ;;
		*) unset CK_RUN_CASE ;;
		esac
		timeout -k 5 "$limit" "build/tests/unit/${t%%:*}" >out 2>&1
		rc=$?
		if [ $rc -ne 0 ]; then
			by=$t
			return 0
		fi
	done
	return 1
}

failures=0 caught=0
fail() {
	echo "not ok $1: $2"
	failures=$((failures + 1))
}

# Unbroken, all of them must pass: else a failure would say nothing.
sound() {
	local all
	all=$(for p in $patches; do field tests "$p"; done | tr ' ' '\n' |
	    sort -u | tr '\n' ' ')
	# shellcheck disable=SC2046  # words
	build $(for p in $patches; do programs "$p"; done | sort -u) || {
		tail -n 20 log
		return 1
	}
	echo "tests: $all" >all
	if noticed all; then
		echo "without a mutant, $by fails: $(complaint)"
		return 1
	fi
}

try() {
	local patch=$1 name
	name=$(basename "$patch" .patch)
	if ! git apply "$patch" >log 2>&1; then
		fail "$name" "does not apply: $(head -n 1 log)"
		return
	fi
	# shellcheck disable=SC2046  # words
	if ! build $(programs "$patch"); then
		fail "$name" "does not compile: $(grep -m 1 error log)"
	elif noticed "$patch"; then
		caught=$((caught + 1))
		echo "ok $name ($(field rule "$patch")): $by: $(complaint)"
	else
		fail "$name" "survives ($(field rule "$patch"))"
	fi
	git apply -R "$patch"
}

sound || exit 1
for p in $patches; do
	try "$p"
done
echo "$caught caught, $failures not"
[ $failures -eq 0 ]
