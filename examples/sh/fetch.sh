#!/bin/sh
# fetch.sh - get a URL, keep its body in a file, say what it was.
#
# Exec mode.  The input is the URL as a JSON string.  The file has the task's
# id as its name and appears whole or not at all, so a second attempt, or two
# at once, do no harm.
#
#	[handler fetch]
#	type = http.fetch
#	command = /usr/local/share/qo/examples/sh/fetch.sh /var/tmp
#	timeout = 2m
#
#	qo submit -t http.fetch -i '"http://127.0.0.1:8080/index.html"'
set -eu
dir=$1

input=$(cat)
url=${input#\"}
url=${url%\"}
case $url in
"$input" | *[\"\\\ ]*)
	echo "the input is no URL in quotes: $input" >&2
	exit 65
	;;
http://?* | https://?*) ;;
*)
	echo "only http and https: $url" >&2
	exit 65
	;;
esac

# The working directory is this attempt's own and is removed after it.
code=$(curl -sS --max-time 60 --max-filesize 100000000 --proto =http,https \
    -o body -D headers -w '%{http_code}' -- "$url") ||
    exit 75			# EX_TEMPFAIL: not reached, try again

case $code in
2??) ;;
429 | 5??)
	# The server says when.
	after=$(tr -d '\r' <headers |
	    sed -n 's/^[Rr]etry-[Aa]fter: *\([0-9]\{1,5\}\)$/\1/p' | tail -n 1)
	printf '{"status":"retry","error":"status %s"%s}\n' "$code" \
	    "${after:+,\"delay_seconds\":$after}" >&3
	exit 75
	;;
*)
	printf '{"status":"failed","error":"status %s"}\n' "$code" >&3
	exit 65
	;;
esac

[ -e body ] || : >body
mv body "$dir/$QO_TASK_ID.tmp.$QO_ATTEMPT"
mv "$dir/$QO_TASK_ID.tmp.$QO_ATTEMPT" "$dir/$QO_TASK_ID"
printf '{"status":%s,"bytes":%s,"file":"%s","sha256":"%s"}\n' "$code" \
    "$(wc -c <"$dir/$QO_TASK_ID")" "$dir/$QO_TASK_ID" \
    "$(sha256sum <"$dir/$QO_TASK_ID" | cut -d' ' -f1)"
