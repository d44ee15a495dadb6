#!/bin/bash
# Real clients, as Debian has them, in a whole session against qo-store:
# aws cli, boto3, s3cmd and rclone.
set -u
bin=$PWD/$B/bin/qo-store
lib=$PWD/tests/integration
tmp=$(mktemp -d)
failures=0
pid=

# shellcheck disable=SC2317  # called by the trap
cleanup() {
	[ -z "$pid" ] || kill "$pid" 2>/dev/null
	[ -z "$pid" ] || wait "$pid" 2>/dev/null
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 143' INT TERM

# The whole case is a function; its output is shown when it fails.
run() {
	local name=$1
	shift
	# Not as a condition: that would switch set -e off.
	(
		set -e
		"$@"
	) >"$tmp/out" 2>&1
	# shellcheck disable=SC2181
	if [ $? -eq 0 ]; then
		echo "ok $name"
	else
		echo "not ok $name: $(tail -n 3 "$tmp/out" | tr '\n' ' ')"
		failures=$((failures + 1))
	fi
}

need() {
	command -v "$2" >/dev/null && return
	echo "skip $1: $2 is not installed"
	return 1
}

"$bin" -d "$tmp/data" -l 127.0.0.1:0 -p "$tmp/port" >"$tmp/ready" \
    2>"$tmp/log" &
pid=$!
until [ -s "$tmp/port" ] || ! kill -0 "$pid" 2>/dev/null; do
	sleep 0.02
done
port=$(<"$tmp/port")
ini() {
	sed -n "s/^$1 = //p" "$tmp/data/keys"
}
AWS_ACCESS_KEY_ID=$(ini access_key)
AWS_SECRET_ACCESS_KEY=$(ini secret_key)
export AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
export AWS_DEFAULT_REGION=us-east-1 AWS_EC2_METADATA_DISABLED=true
export AWS_CONFIG_FILE=$tmp/awsconfig HOME=$tmp TMPDIR=$tmp
unset AWS_PROFILE AWS_SESSION_TOKEN AWS_CA_BUNDLE http_proxy HTTP_PROXY
printf '[default]\ns3 =\n  addressing_style = path\n  signature_version = s3v4\n' \
    >"$tmp/awsconfig"
url=http://127.0.0.1:$port

# A directory to copy: names with blanks, umlauts and a plus; a large file.
mkdir -p "$tmp/tree/sub dir/deep"
head -c 20971520 /dev/urandom >"$tmp/tree/big"
echo one >"$tmp/tree/one"
echo two >"$tmp/tree/sub dir/zwei ü"
echo three >"$tmp/tree/sub dir/deep/a+b"
: >"$tmp/tree/empty"

aws() {
	command aws --endpoint-url "$url" "$@"
}

aws_session() {
	aws s3 mb s3://aws-one
	aws s3api put-bucket-versioning --bucket aws-one \
	    --versioning-configuration Status=Enabled
	[ "$(aws s3api get-bucket-versioning --bucket aws-one \
	    --query Status --output text)" = Enabled ]
	aws s3 cp "$tmp/tree/one" s3://aws-one/one
	echo changed | aws s3 cp - s3://aws-one/one
	[ "$(aws s3api list-object-versions --bucket aws-one --prefix one \
	    --query 'length(Versions)')" = 2 ]
	aws s3 sync "$tmp/tree" s3://aws-one/tree
	aws s3 sync s3://aws-one/tree "$tmp/back"
	diff -r "$tmp/tree" "$tmp/back"
	aws s3 ls s3://aws-one/ | grep -q 'PRE tree/'
	aws s3 ls --recursive s3://aws-one/tree/ | grep -q 'zwei ü'
	curl -fsS "$(aws s3 presign s3://aws-one/one)" | grep -q changed
	aws s3api head-object --bucket aws-one --key tree/big
	aws s3 cp s3://aws-one/tree/big s3://aws-one/copied
	aws s3 mv s3://aws-one/copied s3://aws-one/moved
	aws s3 cp s3://aws-one/moved - | cmp - "$tmp/tree/big"
	aws s3api get-object --bucket aws-one --key one --range bytes=0-2 \
	    "$tmp/range" && [ "$(<"$tmp/range")" = cha ]
	aws s3api get-bucket-location --bucket aws-one
	aws s3 rm --recursive s3://aws-one/tree
	[ -z "$(aws s3 ls s3://aws-one/tree/)" ]
	# Buckets with versions left are not empty.
	if aws s3 rb s3://aws-one; then return 1; fi
	aws s3 mb s3://aws-two
	aws s3 cp "$tmp/tree/one" s3://aws-two/x
	aws s3 rb --force s3://aws-two
}

s3cmd() {
	command s3cmd --host="127.0.0.1:$port" --host-bucket="127.0.0.1:$port" \
	    --no-ssl --access_key="$AWS_ACCESS_KEY_ID" \
	    --secret_key="$AWS_SECRET_ACCESS_KEY" --no-progress "$@"
}

s3cmd_session() {
	touch "$tmp/.s3cfg"
	s3cmd mb s3://s3cmd-one
	s3cmd put "$tmp/tree/one" s3://s3cmd-one/one
	s3cmd put "$tmp/tree/big" s3://s3cmd-one/big --multipart-chunk-size-mb=5
	s3cmd get --force s3://s3cmd-one/big "$tmp/s3cmd.big"
	cmp "$tmp/tree/big" "$tmp/s3cmd.big"
	s3cmd sync "$tmp/tree/" s3://s3cmd-one/tree/
	mkdir "$tmp/s3cmd.back"
	s3cmd sync s3://s3cmd-one/tree/ "$tmp/s3cmd.back/"
	diff -r "$tmp/tree" "$tmp/s3cmd.back"
	s3cmd ls s3://s3cmd-one/ | grep -q 'DIR .*tree/'
	s3cmd info s3://s3cmd-one/one | grep -q 'MD5'
	s3cmd setacl --acl-public s3://s3cmd-one/one
	s3cmd info s3://s3cmd-one/one | grep -q 'anon.*READ'
	s3cmd setacl --acl-private s3://s3cmd-one/one
	s3cmd cp s3://s3cmd-one/one s3://s3cmd-one/two
	s3cmd mv s3://s3cmd-one/two s3://s3cmd-one/three
	s3cmd del --recursive --force s3://s3cmd-one
	s3cmd rb s3://s3cmd-one
}

rclone() {
	RCLONE_CONFIG_QO_TYPE=s3 RCLONE_CONFIG_QO_PROVIDER=Other \
	    RCLONE_CONFIG_QO_ENDPOINT=$url RCLONE_CONFIG_QO_ENV_AUTH=true \
	    RCLONE_CONFIG_QO_REGION=us-east-1 \
	    RCLONE_CONFIG_QO_FORCE_PATH_STYLE=true \
	    command rclone --config "$tmp/rclone.conf" -q "$@"
}

rclone_session() {
	: >"$tmp/rclone.conf"
	rclone mkdir qo:rclone-one
	rclone sync "$tmp/tree" qo:rclone-one/tree --s3-upload-cutoff 5M \
	    --s3-chunk-size 5M
	rclone check "$tmp/tree" qo:rclone-one/tree
	rclone sync qo:rclone-one/tree "$tmp/rclone.back"
	diff -r "$tmp/tree" "$tmp/rclone.back"
	rm "$tmp/rclone.back/one"
	rclone sync "$tmp/rclone.back" qo:rclone-one/tree
	if rclone lsf qo:rclone-one/tree/ | grep -qx one; then return 1; fi
	rclone lsf qo:rclone-one/ | grep -qx tree/
	rclone copyto qo:rclone-one/tree/big qo:rclone-one/big2
	rclone cat qo:rclone-one/big2 | cmp - "$tmp/tree/big"
	rclone purge qo:rclone-one
}

boto3_session() {
	/usr/bin/python3 "$lib/store_boto3.py" "$url" "$tmp/tree/big"
}

need aws_cli aws && run aws_cli aws_session
need s3cmd s3cmd && run s3cmd s3cmd_session
need rclone rclone && run rclone rclone_session
if /usr/bin/python3 -c 'import boto3' 2>/dev/null; then
	run boto3 boto3_session
else
	echo "skip boto3: python3-boto3 is not installed"
fi

kill -TERM "$pid"
if wait "$pid"; then
	echo "ok clean_end"
else
	echo "not ok clean_end: $(tail -n 1 "$tmp/log")"
	failures=$((failures + 1))
fi
pid=
[ $failures -eq 0 ]
