#!/bin/sh
# model.sh - check the model of the rules with spin.
#
#	tools/model.sh [NAME...]
#
# Each line of tests/model/configs is a configuration of tests/model/qo.pml
# that must hold, every state of it looked at, or a mutation of a rule that
# must give a counterexample.  MODEL_MEM (2000) MB and MODEL_TIME (240) s are
# the limits of one.
set -u
export LC_ALL=C

model=$PWD/tests/model
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
cd "$tmp" || exit 1
failures=0

# verify FLAGS: makes the verifier and runs it, into pan.log.
verify() {
	# shellcheck disable=SC2086  # flags are words
	spin -a $1 "$model/qo.pml" >spin.log 2>&1 &&
	    ${CC:-cc} -O1 -w -DSAFETY -DNOFAIR -DHC4 -DVECTORSZ=2048 \
	    -DMEMLIM="${MODEL_MEM:-2000}" -o pan pan.c &&
	    nice timeout -s INT "${MODEL_TIME:-240}" \
	    ./pan -m1000000 -w24 -E >pan.log 2>&1
}

whole() {
	! grep -Eq 'Interrupted|out of memory|depth too small|not completed' \
	    pan.log
}

judge() {
	errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' pan.log | tail -n 1)
	states=$(awk '/states, stored/ { n = $1 } END { print n }' pan.log)
	case $1 in
	holds)
		if [ "$errors" = 0 ] && whole; then
			echo "ok $2: holds, $states states: $3"
			return
		fi
		;;
	fails)
		if [ "${errors:-0}" -gt 0 ]; then
			echo "ok $2: fails as it must: $3"
			return
		fi
		;;
	esac
	echo "not ok $2: $1? errors: ${errors:-none said}, $states states: $3"
	failures=$((failures + 1))
}

while IFS='|' read -r want name flags shows; do
	case $want in
	'#'*) continue ;;
	esac
	if [ $# -gt 0 ]; then
		case " $* " in
		*" $name "*) ;;
		*) continue ;;
		esac
	fi
	rm -f pan.log
	if verify "$flags" || [ -s pan.log ]; then
		judge "$want" "$name" "$shows"
	else
		echo "not ok $name: $(cat spin.log)"
		failures=$((failures + 1))
	fi
done <"$model/configs"
[ $failures -eq 0 ]
