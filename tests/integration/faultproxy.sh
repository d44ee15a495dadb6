#!/bin/sh
# The fault proxy as a program: its URL, its rules, its history, its end.
set -u
failures=0

check() {
	if [ "$2" = "$3" ]; then
		echo "ok $1"
	else
		echo "not ok $1: $2, expected $3"
		failures=$((failures + 1))
	fi
}

tmp=$(mktemp -d)
store=
proxy=
# shellcheck disable=SC2086  # none or one
trap 'kill $store $proxy 2>/dev/null; wait; rm -rf "$tmp"' EXIT
trap 'exit 143' INT TERM

# The first line that a program in the background writes.
first_line() {
	while [ ! -s "$1" ] && kill -0 "$2"; do
		sleep 0.05
	done
	head -n 1 "$1"
}

"$B"/bin/qo-store -d "$tmp/data" -l 127.0.0.1:0 >"$tmp/store" 2>/dev/null &
store=$!
url=$(first_line "$tmp/store" $store)
url=${url#qo-store ready }

mkfifo "$tmp/in"
"$B"/tests/tools/faultproxy -o "$tmp/history" "$url" \
    'refuse GET key=^/b/x$ count=1 status=418' \
    'after GET key=^/b/y$ nth=2 status=507' <"$tmp/in" >"$tmp/proxy" &
proxy=$!
exec 3>"$tmp/in"
p=$(first_line "$tmp/proxy" $proxy)

get() {
	curl -s -o /dev/null -w '%{http_code}' --max-time 240 "$p$1"
}

check refused "$(get /b/x)" 418
check only_once "$(get /b/x)" 403
check not_the_second "$(get /b/y)" 403
check answered_after "$(get /b/y)" 507
check history "$(cut -d' ' -f3-4,6- "$tmp/history" | tr '\n' ',')" \
    'GET /b/x refuse 0 418,GET /b/x pass 403 403,GET /b/y pass 403 403,GET /b/y after 403 507,'
exec 3>&-
wait $proxy
check ends_with_its_input $? 0
proxy=
"$B"/tests/tools/faultproxy "$url" 'sing loudly' </dev/null >/dev/null 2>&1
check no_such_rule $? 1

[ $failures -eq 0 ]
