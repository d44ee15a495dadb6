#!/bin/bash
# qo itself: help, mistakes, exit codes, init, doctor, fsck, pause, completion,
# on a real store.
set -u
failures=0
pid=
top=$PWD
qo=$top/$B/bin/qo

tmp=$(mktemp -d)
trap '[ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null; wait; rm -rf "$tmp"' EXIT
trap 'exit 143' INT TERM
cd "$tmp" || exit 1
unset QO_CONFIG NO_COLOR AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_PROFILE

# check NAME EXIT STDOUT-PATTERN STDERR-PATTERN COMMAND...; patterns are
# extended, "" means: nothing at all.
check() {
	local name=$1 want=$2 out=$3 err=$4 status bad=
	shift 4
	"$@" >out 2>err </dev/null
	status=$?
	[ $status -eq "$want" ] || bad="exit $status, not $want"
	if [ -z "$out" ]; then
		[ ! -s out ] || bad="$bad; there is output"
	else
		grep -Eq -- "$out" out || bad="$bad; no $out"
	fi
	if [ -z "$err" ]; then
		[ ! -s err ] || bad="$bad; there are errors"
	else
		grep -Eq -- "$err" err || bad="$bad; no $err in the errors"
		[ "$(wc -l <err)" -eq 1 ] || bad="$bad; not one line"
	fi
	if [ -z "$bad" ]; then
		echo "ok $name"
	else
		echo "not ok $name: $bad"
		sed 's/^/    /' out err
		failures=$((failures + 1))
	fi
}

start_store() {
	rm -f port
	"$top/$B/bin/qo-store" -d "$tmp/data" -l "127.0.0.1:${1-0}" -p port \
	    >store.out 2>&1 </dev/null &
	pid=$!
	tries=2400
	until [ -s port ]; do
		tries=$((tries - 1))
		if [ $tries -eq 0 ] || ! kill -0 "$pid" 2>/dev/null; then
			echo "not ok store: it does not start"
			cat store.out
			exit 1
		fi
		sleep 0.1
	done
}

stop_store() {
	kill -TERM "$pid" && wait "$pid"
	pid=
}

# Without a store.
check usage 2 '' '^qo: which command' "$qo"
check help 0 '^  init ' '' "$qo" help
check help_option 0 '^  init ' '' "$qo" -h
check help_command 0 '--shard-width' '' "$qo" help init
check command_help 0 '--shard-width' '' "$qo" init -h
check help_unknown 2 '' 'unknown command nope' "$qo" help nope
check unknown_command 2 '' '^qo: unknown command inti, did you mean init\?' \
    "$qo" inti
check unknown_option 2 '' '^qo pause: unknown option --typ, did you mean --type' \
    "$qo" pause --typ x
check unknown_global 2 '' 'unknown option --confg.*did you mean --config' \
    "$qo" --confg x pause
check no_value 2 '' '--type needs a value: TYPE' "$qo" pause --type
check too_many 2 '' '^qo version: 1 is one argument too many' "$qo" version 1
check too_few 2 '' '^qo completion: bash\|zsh\|fish is missing' \
    "$qo" completion
check no_sub 2 '' '^qo: config needs one of: show' "$qo" config
check version 0 '^qo [0-9]+\.[0-9]+\.[0-9]+$' '' "$qo" version
check version_json 0 '"task_format":1' '' "$qo" version --json
check escapes 2 '' 'unknown command .x1b\[31m' "$qo" $'\033[31m'
check bad_type 2 '' '--type: a task type is' "$qo" pause --type 'a b'

# Configuration: flag, environment, none.
printf '[s3]\nbucket = from-file\nprofle = x\n' >bad.conf
check bad_config 2 '' 'bad\.conf:3: .*profle' "$qo" -c bad.conf config show
check no_config 2 '' '/nowhere: ' "$qo" -c /nowhere config show
printf '[s3]\nbucket = from-file\n' >good.conf
check config_flag 0 '^bucket = from-file' '' "$qo" -c good.conf config show
check config_env 0 '^bucket = from-file' '' \
    env QO_CONFIG=good.conf "$qo" config show
check config_override 0 '^bucket = from-env' '' \
    env QO_CONFIG=good.conf QO_S3_BUCKET=from-env "$qo" config show
mkdir run && cp good.conf run/qod.conf && chmod 600 run/qod.conf
check config_run 0 '^bucket = from-file' '' "$qo" config show
chmod 666 run/qod.conf
check config_not_ours 0 '^bucket = qo$' '' \
    env QO_STORE_DATA="$tmp/data" "$qo" config show
rm -r run

# The store is not there, then without a bucket, then good.
start_store
printf '[store]\ndata = %s\nlisten = 127.0.0.1:%s\n' "$tmp/data" \
    "$(cat port)" >qod.conf
export QO_CONFIG=$tmp/qod.conf
port=$(cat port)
stop_store
check unreachable 7 '' 'store can not be reached, is it running' "$qo" pause
mv data/keys keys.old
check no_key 7 '' 'data/keys: there is no key' "$qo" pause
mv keys.old data/keys
start_store "$port"
check no_bucket 3 '' 'no such bucket, run qo init first' "$qo" pause
check no_bucket_fsck 3 '' 'no such bucket, run qo init first' "$qo" fsck
check no_bucket_doctor 3 '' 'no such bucket, run qo init first' "$qo" doctor
check bad_width 2 '' '--shard-width: 1 or 2, not 3' "$qo" init --shard-width 3
check init 0 '^made the queue, shard width 2' '' "$qo" init --shard-width 2
# On a busy machine it may be slow, which is a warning.
check init_fit 0 '^(the store does what the queue needs|warn  latency )' '' \
    "$qo" init
check init_again 0 '^the queue is there, shard width 2' '' "$qo" init
check init_other 5 '^bucket qo is there' 'this queue has 2, for ever' \
    "$qo" init --shard-width 1
check other_prefix 3 '' 'bucket qo, prefix team/ holds no queue: run qo init' \
    env QO_S3_PREFIX=team/ "$qo" fsck
check denied 4 '' '403 ' env AWS_ACCESS_KEY_ID=nobody \
    AWS_SECRET_ACCESS_KEY=secret "$qo" fsck
check one_bucket 0 '^set lifecycle rules' '' \
    env QO_S3_ENDPOINT="http://127.0.0.1:$port" QO_S3_BUCKET=single \
    QO_S3_ACCESS_KEY_FILE="$tmp/data/keys" "$qo" init

check doctor 0 '^pass  race-if-match' '' "$qo" doctor
check doctor_json 0 '^\{"verdict":"(pass"|warn".*"latency","result":"warn")' '' "$qo" doctor --json
check fsck 0 '^0 tasks, 0 index entries .* 0 problems' '' "$qo" fsck
check fsck_json 0 '^\{"tasks":0,.*"problems":\[\]\}$' '' "$qo" fsck --json
check pause 0 '^paused the queue$' '' "$qo" pause
check pause_again 0 'it was so already' '' "$qo" pause
check pause_type 0 '^paused tasks of type a\.b$' '' "$qo" pause --type a.b
check resume 0 '^resumed the queue$' '' "$qo" resume
check resume_type 0 '^resumed tasks of type a\.b$' '' "$qo" resume --type=a.b
check closed_pipe 1 '' '' bash -c "'$qo' help >/dev/full 2>/dev/null"

# Completion is a script that the shell takes, and knows the commands.
check bash_completion 0 '^doctor$' '' bash -c "
	source <('$qo' completion bash) || exit 1
	COMP_WORDS=(qo -c x d) COMP_CWORD=3
	_qo
	printf '%s\n' \"\${COMPREPLY[@]}\""
check bash_option 0 '^--shard-width$' '' bash -c "
	source <('$qo' completion bash) || exit 1
	COMP_WORDS=(qo init --s) COMP_CWORD=2
	_qo
	printf '%s\n' \"\${COMPREPLY[@]}\""
check bash_sub 0 '^show$' '' bash -c "
	source <('$qo' completion bash) || exit 1
	COMP_WORDS=(qo config '') COMP_CWORD=2
	_qo
	printf '%s\n' \"\${COMPREPLY[@]}\""
check zsh_completion 0 "'init:make" '' "$qo" completion zsh
check fish_completion 0 'seen_subcommand_from init. -l shard-width' '' \
    "$qo" completion fish
check bad_shell 2 '' 'csh: bash, zsh or fish' "$qo" completion csh

# The manual has every command and every option of the table.
check manual 0 '^\.It Ic doctor Oo Ar option' '' cat "$top/$B/man/qo.1"
if command -v mandoc >/dev/null; then
	check manual_lint 0 '' '' mandoc -Tlint -Wwarning "$top/$B/man/qo.1"
else
	echo "skip manual_lint: mandoc is not installed"
fi

stop_store
[ $failures -eq 0 ]
