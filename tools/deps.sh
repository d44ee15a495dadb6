#!/bin/sh
# deps.sh - install what is missing for some groups of make targets.
#
#	tools/deps.sh [build] [check] [lint] [fuzz] [model]
#
# Looks first, with pkg-config and the shell alone, and is done at once when
# nothing is missing.  Installs on Debian and Ubuntu, as root or through sudo;
# elsewhere, or without the rights, it names what is missing and exits 1.
# What a distribution does not have and only some checks use is left out, with
# a line that says so: those checks skip themselves.  OS_RELEASE names another
# file than /etc/os-release.
set -eu

say() {
	printf 'deps: %s\n' "$*"
}

die() {
	printf 'deps: %s\n' "$*" >&2
	exit 1
}

has_lib() {
	pkg-config --exists "$1" 2>/dev/null
}

has_cmd() {
	command -v "$1" >/dev/null 2>&1
}

has_boto3() {
	[ -d /usr/lib/python3/dist-packages/boto3 ] ||
	    python3 -c 'import boto3' 2>/dev/null
}

has_format() {
	has_cmd clang-format-14 ||
	    clang-format --version 2>/dev/null | grep -q 'version 14\.'
}

has_fuzzer() {
	rt=$(clang -print-file-name=libclang_rt.fuzzer-"$(uname -m)".a \
	    2>/dev/null) || return 1
	[ -e "$rt" ] && return 0
	# Without the architecture in its name, in newer releases.
	[ -e "$(clang -print-file-name=libclang_rt.fuzzer.a)" ]
}

# need PACKAGE WHAT TEST...: WHAT is its name where there is no such package.
need() {
	package=$1
	what=$2
	shift 2
	"$@" && return 0
	missing="$missing $package"
	names="$names
  $what"
}

# want PACKAGE TEST...: as need, but some distributions do not have it.
want() {
	package=$1
	shift
	"$@" || wanted="$wanted $package"
}

look() {
	missing=
	wanted=
	names=
	for group; do
		case $group in
		build)
			need gcc 'a C compiler (cc)' has_cmd cc
			need libc6-dev 'the headers of the C library' \
			    test -e /usr/include/stdio.h
			need make 'GNU make' has_cmd make
			need pkg-config pkg-config has_cmd pkg-config
			need libcurl4-openssl-dev libcurl has_lib libcurl
			need libyyjson-dev 'yyjson, 0.10 or newer' \
			    has_lib 'yyjson >= 0.10'
			need libssl-dev 'OpenSSL 3' has_lib 'libcrypto >= 3'
			need libbsd-dev libbsd has_lib libbsd-overlay
			need libexpat1-dev expat has_lib expat
			need libsqlite3-dev SQLite has_lib sqlite3
			# Not for building: schedules have time zones.
			need tzdata 'the time zone database (tzdata)' \
			    test -e /usr/share/zoneinfo/Europe/Berlin
			;;
		check)
			need check 'Check (libcheck)' has_lib check
			need curl curl has_cmd curl
			need python3 'Python 3' has_cmd python3
			want awscli has_cmd aws
			want python3-boto3 has_boto3
			want s3cmd has_cmd s3cmd
			want rclone has_cmd rclone
			want mandoc has_cmd mandoc
			want systemd has_cmd systemd-analyze
			want nodejs has_cmd node
			want jq has_cmd jq
			# Completion is tried in the shells themselves.
			want zsh has_cmd zsh
			want fish has_cmd fish
			;;
		lint)
			need cppcheck cppcheck has_cmd cppcheck
			need mandoc mandoc has_cmd mandoc
			want clang-format-14 has_format
			want shellcheck has_cmd shellcheck
			;;
		fuzz)
			need clang clang has_cmd clang
			need libclang-rt-dev "clang's libFuzzer" has_fuzzer
			;;
		model)
			need spin spin has_cmd spin
			;;
		*)
			die "no such group: $group"
			;;
		esac
	done
}

# The packages of "$@" that apt knows a version of.
candidates() {
	[ $# -eq 0 ] || apt-cache policy "$@" 2>/dev/null | awk '
	    /^[^ ]/ { sub(":$", ""); name = $0 }
	    $1 == "Candidate:" && $2 != "(none)" { print name }'
}

have_lists() {
	for f in /var/lib/apt/lists/*_Packages*; do
		[ -e "$f" ] && return 0
	done
	return 1
}

apt_install() {
	apt-get install -qq -y --no-install-recommends \
	    -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "$@"
}

# Where this machine gets its packages from: the site of its own release.
apt_site() {
	# shellcheck disable=SC2016  # apt's own variables
	apt-get indextargets --format \
	    '$(SITE) $(RELEASE) $(ORIGIN) $(LABEL)' 'Created-By: Packages' |
	    awk -v rel="$VERSION_CODENAME" -v origin="$1" '
	    $3 != origin || $4 != origin { next }
	    $2 == rel { own = $1 }
	    any == "" { any = $1 }
	    END { print own != "" ? own : any }'
}

# Debian 12 and Ubuntu 24.04 lack yyjson.  Their next releases' packages need
# nothing but an old libc, so take those two, and only those: apt fetches and
# verifies them under a configuration of its own, which is gone afterwards.
install_yyjson() {
	case $ID in
	debian)
		origin=Debian suite=trixie component=main
		keyring=/usr/share/keyrings/debian-archive-keyring.gpg
		;;
	ubuntu)
		origin=Ubuntu suite=resolute component=universe
		keyring=/usr/share/keyrings/ubuntu-archive-keyring.gpg
		;;
	*)
		return 1
		;;
	esac
	site=$(apt_site "$origin")
	if [ -z "$site" ] || [ ! -e "$keyring" ]; then
		return 1
	fi
	say "libyyjson-dev is not in this release; taking that of $suite"
	tmp=$(mktemp -d)
	trap 'rm -rf "$tmp"' EXIT
	trap 'exit 1' HUP INT TERM
	mkdir "$tmp/parts" "$tmp/lists" "$tmp/cache" "$tmp/deb"
	# apt downloads as a user of its own, who must reach these.
	chmod 755 "$tmp"
	chown _apt "$tmp/deb" 2>/dev/null || :
	printf 'deb [arch=%s signed-by=%s] %s %s %s\n' \
	    "$(dpkg --print-architecture)" "$keyring" "$site" "$suite" \
	    "$component" >"$tmp/sources.list"
	apt_other() {
		apt-get -qq -o Dir::Etc::sourcelist="$tmp/sources.list" \
		    -o Dir::Etc::sourceparts="$tmp/parts" \
		    -o Dir::Etc::preferences=/dev/null \
		    -o Dir::Etc::preferencesparts="$tmp/parts" \
		    -o Dir::State::lists="$tmp/lists" \
		    -o Dir::Cache="$tmp/cache" -o Acquire::Languages=none "$@"
	}
	apt_other update &&
	    (cd "$tmp/deb" && apt_other download libyyjson0 libyyjson-dev) &&
	    apt_install "$tmp"/deb/*.deb
}

# Which package has libFuzzer depends on which clang is the default.
fuzzer_package() {
	apt-cache depends clang | awk '
	    $1 == "Depends:" && $2 ~ /^clang-[0-9]+$/ {
		sub("clang-", "", $2); print "libclang-rt-" $2 "-dev"; exit
	    }'
}

without() {
	word=$1
	shift
	for w; do
		[ "$w" = "$word" ] || printf '%s ' "$w"
	done
}

contains() {
	case " $2 " in
	*" $1 "*) return 0 ;;
	esac
	return 1
}

# All words below are package names: splitting them is what is meant.
# shellcheck disable=SC2046,SC2086
install_missing() {
	yyjson=no
	if contains libclang-rt-dev "$missing"; then
		missing="$(without libclang-rt-dev $missing)$(fuzzer_package)"
	fi
	if contains libyyjson-dev "$missing" &&
	    [ -z "$(candidates libyyjson-dev)" ]; then
		missing=$(without libyyjson-dev $missing)
		yyjson=yes
	fi
	set -- $missing $(candidates $wanted)
	if [ $# -gt 0 ]; then
		say "installing $*"
		# Lists that are too old name files that are gone.
		apt_install "$@" || { apt-get -qq update && apt_install "$@"; }
	fi
	[ $yyjson = no ] || install_yyjson ||
	    die "yyjson 0.10 or newer is missing, and no later release of" \
	    "this distribution could be asked for it"
}

[ $# -gt 0 ] || set -- build check
look "$@"
[ -n "$missing$wanted" ] || exit 0

OS_RELEASE=${OS_RELEASE:-/etc/os-release}
ID=unknown ID_LIKE='' VERSION_CODENAME=''
# shellcheck source=/dev/null
[ ! -r "$OS_RELEASE" ] || . "$OS_RELEASE"
if ! contains debian "$ID $ID_LIKE" || ! has_cmd apt-get; then
	[ -z "$wanted" ] || say "not here, what uses them is left out:$wanted"
	[ -n "$missing" ] || exit 0
	die "can not install on this system; missing:$names"
fi

# shellcheck disable=SC2086
if [ -z "$missing" ] && have_lists && [ -z "$(candidates $wanted)" ]; then
	say "not in this distribution, what uses them is left out:$wanted"
	exit 0
fi

if [ "$(id -u)" -ne 0 ]; then
	# Asking for a password needs somebody to answer.
	if has_cmd sudo && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
		say "needs$missing$wanted; asking sudo"
		exec sudo --preserve-env=http_proxy,https_proxy,no_proxy \
		    sh "$0" "$@"
	fi
	die "needs these packages, and has no right to install them:" \
	    "$missing$wanted"
fi

export DEBIAN_FRONTEND=noninteractive
# A broken source of somebody else need not stop us.
have_lists || apt-get -qq update || say "apt-get update had errors"
install_missing
look "$@"
[ -z "$wanted" ] ||
    say "not in this distribution, what uses them is left out:$wanted"
[ -z "$missing" ] || die "still missing:$names"
