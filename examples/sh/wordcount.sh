#!/bin/sh
# wordcount.sh - count the lines and words of a file.
#
# Exec mode, the simplest handler: input on standard input, output on standard
# output, exit 0.  The input is the path as a JSON string.
#
#	[handler wordcount]
#	type = text.wordcount
#	command = /usr/local/share/qo/examples/sh/wordcount.sh
#	timeout = 30s
#
#	qo submit -t text.wordcount -i '"/etc/services"'
set -eu

# A string without escapes is all that this needs; jq reads any JSON.
input=$(cat)
path=${input#\"}
path=${path%\"}
case $path in
"$input" | *\"* | *\\*)
	echo "the input is no path in quotes: $input" >&2
	exit 65			# EX_DATAERR: failed, no retry would help
	;;
esac

if [ ! -e "$path" ]; then
	# Descriptor 3 takes a verdict that says more than a status can: the
	# file may still come, so look again soon.
	echo '{"status":"retry","error":"the file is not there",' \
	    '"delay_seconds":1}' >&3
	exit 75
fi

echo "attempt $QO_ATTEMPT counts $path" >&2	# this is the log
wc -l -w <"$path" | awk '{ printf "{\"lines\":%d,\"words\":%d}\n", $1, $2 }'
