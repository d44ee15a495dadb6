#!/bin/sh
# What `make run' starts: it says so, answers, keeps all state under ./run
# and ends when it is told to.
set -u
failures=0
pid=

tmp=$(mktemp -d)
trap '[ -z "$pid" ] || kill -TERM "$pid" 2>/dev/null; wait; rm -rf "$tmp"' EXIT
trap 'exit 143' INT TERM

ok() {
	echo "ok $1"
}

fail() {
	echo "not ok $1: $2"
	sed 's/^/    /' out
	failures=$((failures + 1))
}

top=$PWD
cd "$tmp" || exit 1
# As in a clone: the configuration that is shipped is for an installed qo.
cp -r "$top/conf" .

# wait_for COMMAND...: until it succeeds, 4 minutes at most.
wait_for() {
	tries=2400
	until "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		if [ $tries -eq 0 ] || ! kill -0 "$pid" 2>/dev/null; then
			return 1
		fi
		sleep 0.1
	done
}

# An address that no other test has.
address=127.$((1 + $$ / 256 % 250)).$(($$ % 256)).251:9710
export QO_STORE_LISTEN=$address QO_MONITOR_LISTEN=off
"$top/tools/run.sh" "$top/$B" >out 2>&1 </dev/null &
pid=$!
if wait_for grep -q 'role=qod .*msg=ready ms=' out && grep -q '^run: ' out
then
	ok starts
else
	fail starts "it is not up"
	exit 1
fi

status=$(curl -s -o body -w '%{http_code}' "http://$address/")
if [ "$status" = 403 ] && grep -q '<Code>AccessDenied</Code>' body; then
	ok answers
else
	fail answers "status $status: $(cat body)"
fi

# qo needs no option in this directory.
if "$top/$B/bin/qo" config show >shown 2>&1 &&
    grep -q "^data = .*/run/store\$" shown &&
    "$top/$B/bin/qo" submit -t greet --input '{"to": "you"}' >shown 2>&1 &&
    "$top/$B/bin/qo" list >shown 2>&1 && grep -q greet shown; then
	ok qo_finds_it
else
	fail qo_finds_it "$(cat shown)"
fi
rm -r shown conf

if [ "$(ls)" = "body
out
run" ] && [ "$(stat -c %a run)" = 700 ]; then
	ok state_in_run
else
	fail state_in_run "$(ls -l)"
fi

kill -TERM "$pid"
wait "$pid"
status=$?
pid=
if [ $status -eq 0 ]; then
	ok ends
else
	fail ends "exit status $status"
fi

[ $failures -eq 0 ]
