#!/bin/sh
# format.sh - format the C sources, or with -n only complain.
#
# Releases of clang-format differ in what they make of one configuration, so
# only the one that .clang-format was written for is used.
set -eu

version=14
for f in clang-format-$version clang-format; do
	if "$f" --version 2>/dev/null | grep -q "version $version\\."; then
		format=$f
		break
	fi
done
if [ -z "${format:-}" ]; then
	echo "format: clang-format $version is not here, C sources not formatted"
	[ "${1:-}" = -n ] && exit 0
	exit 1
fi
if [ "${1:-}" = -n ]; then
	set -- --dry-run -Werror
else
	set -- -i
fi
find . \( -path './build*' -o -path ./.git -o -path ./run \) -prune \
    -o -name '*.[ch]' -exec "$format" "$@" {} +
