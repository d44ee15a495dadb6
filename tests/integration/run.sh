#!/bin/sh
# tests/run itself: no way for a test to fail may be counted as success.
set -u
failures=0

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 143' INT TERM
run=$PWD/tests/run
cd "$tmp" || exit 1

script() {
	printf '#!/bin/sh\n%s\n' "$2" >"$1"
	chmod +x "$1"
}

# expect NAME STATUS LAST_LINE TEST...: the line is a pattern
expect() {
	name=$1
	status=$2
	last=$3
	shift 3
	"$run" "$tmp/build" "$@" >out 2>&1
	rc=$?
	# shellcheck disable=SC2254  # a pattern
	case "$rc $(tail -n 1 out)" in
	"$status "$last) echo "ok $name" ;;
	*)
		echo "not ok $name: status $rc, $(tail -n 1 out)"
		failures=$((failures + 1))
		;;
	esac
}

summary='echo "100%: Checks: 3, Failures: 0, Errors: 0"'
script good.sh 'echo "ok a"; echo "ok b"; echo "skip c: no c"'
script bad.sh 'echo "ok a"; echo "not ok b: broken"; exit 1'
script lies.sh 'echo "ok a"; echo "not ok b: broken"'
script dies.sh 'echo "ok a"; kill -KILL $$'
script silent.sh ''
script hangs.sh 'echo "ok a"; exec sleep 100'
script skips.sh 'echo "skip a: no a"'
script unit "$summary"
script unit_fails 'echo "25%: Checks: 4, Failures: 1, Errors: 2"; exit 1'
script unit_crashes "$summary; exit 139"
script unit_silent ''

expect good 0 '2 passed, 0 failed' ./good.sh
expect bad 1 '1 passed, 1 failed' ./bad.sh
expect failure_with_status_0 1 '1 passed, 1 failed' ./lies.sh
expect death 1 '1 passed, 1 failed' ./dies.sh
expect no_case 1 '0 passed, 1 failed' ./silent.sh
CHECK_TIMEOUT=5
export CHECK_TIMEOUT
# On a busy machine the time may be over before it says anything.
expect timeout 1 '[01] passed, 1 failed' ./hangs.sh
unset CHECK_TIMEOUT
expect absent 1 '0 passed, 1 failed' ./absent.sh
expect nothing_ran 1 '0 passed, 0 failed' ./skips.sh
expect unit 0 '3 passed, 0 failed' ./unit
expect unit_fails 1 '1 passed, 3 failed' ./unit_fails
expect unit_crashes 1 '3 passed, 1 failed' ./unit_crashes
expect unit_silent 1 '0 passed, 1 failed' ./unit_silent
expect sum 1 '6 passed, 1 failed' ./unit ./bad.sh ./good.sh

# What failed is kept to be shown again, and nothing of the run before it.
if [ "$(cat build/check/failed)" = "FAIL bad (1 of 2, exit status 1)
    not ok b: broken
    the end of its output:
    ok a
    not ok b: broken" ]; then
	echo "ok kept_to_be_shown_again"
else
	echo "not ok kept_to_be_shown_again: $(cat build/check/failed)"
	failures=$((failures + 1))
fi
expect good_again 0 '2 passed, 0 failed' ./good.sh
if [ -e build/check/failed ]; then
	echo "not ok nothing_kept_of_success: $(cat build/check/failed)"
	failures=$((failures + 1))
else
	echo "ok nothing_kept_of_success"
fi

[ $failures -eq 0 ]
