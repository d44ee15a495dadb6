#!/bin/bash
# fuzz.sh - run each fuzzer for a while on its seeds and what it found before.
#
#	tools/fuzz.sh BUILD_DIR SECONDS
#
# Seeds are in tests/fuzz/corpus/NAME/.  What a fuzzer learns or breaks stays
# under BUILD_DIR: inputs in corpus/NAME, failures in artifacts/NAME-*.
set -u

dir=$1
seconds=$2
bad=0
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1}
export TZ=IST-5:30

mkdir -p "$dir/artifacts"
for source in tests/fuzz/fuzz_*.c; do
	[ -e "$source" ] || { echo "fuzz: there are no fuzzers"; exit 0; }
	fuzzer=$(basename "$source" .c)
	name=${fuzzer#fuzz_}
	log=$dir/$name.log
	corpus=("$dir/corpus/$name")
	mkdir -p "${corpus[0]}"
	[ ! -d "tests/fuzz/corpus/$name" ] || corpus+=("tests/fuzz/corpus/$name")
	if "$dir/tests/fuzz/$fuzzer" -max_total_time="$seconds" -timeout=10 \
	    -rss_limit_mb=1024 -print_final_stats=1 \
	    -artifact_prefix="$dir/artifacts/$name-" "${corpus[@]}" \
	    >"$log" 2>&1 </dev/null; then
		sed -n "s/^stat::number_of_executed_units: */ok $name: runs /p" \
		    "$log"
	else
		bad=1
		echo "not ok $name, see $log and $dir/artifacts:"
		tail -n 40 "$log"
	fi
done
exit $bad
