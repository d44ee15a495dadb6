#!/bin/bash
# lint.sh - what the compiler does not see: format, cppcheck, our own rules,
# shell scripts, manual pages.  Says all it finds, then exits 1 if it did.
set -u
export LC_ALL=C
bad=0

complain() {
	bad=1
	printf 'lint: %s\n' "$*"
}

# Our files with these names, whether or not this is a git checkout.
files() {
	find . \( -path './build*' -o -path ./.git -o -path ./run \) -prune \
	    -o -type f \( "$@" \) -print | sed 's|^\./||' | sort
}

mapfile -t sources < <(files -name '*.c')
mapfile -t c_files < <(files -name '*.[ch]')
# What runs in production: tests may do as they like with signals and pids.
mapfile -t ours < <(printf '%s\n' "${c_files[@]}" |
	grep -Ev '^(tests|bench|examples)/')
mapfile -t scripts < <(files -name '*.sh' -o -path ./tests/run \
	-o -path ./.ci/run)
mapfile -t text < <(files ! -path './tests/fuzz/corpus/*' \
	! -path './tests/data/*' | xargs -d '\n' grep -lI '')
mapfile -t pages < <(files -path './man/*.[1578]')

# Lines of code that match, without what stands in comments.
code() {
	local pattern=$1
	shift
	[ $# -gt 0 ] || return 0
	awk -v pattern="$pattern" '
	FNR == 1 { comment = 0 }
	{
		line = $0
		gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
		gsub(/\/\*([^*]|\*[^\/])*\*\//, "", line)
		if (comment && sub(/.*\*\//, "", line))
			comment = 0
		if (!comment && sub(/\/\*.*/, "", line))
			comment = 2
		if (comment != 1 && line ~ pattern)
			print FILENAME ":" FNR ": " $0
		if (comment == 2)
			comment = 1
	}' "$@"
}

forbid() {
	local why=$1 pattern=$2 found
	shift 2
	found=$(code "$pattern" "$@")
	[ -z "$found" ] || complain "$why"$'\n'"$found"
}

but() {
	local not=$1
	printf '%s\n' "${ours[@]}" | grep -vx "$not"
}

tools/format.sh -n || complain "run make fmt"

# Suppressed: what the compiler itself sees better (-Wdangling-pointer,
# -Wmaybe-uninitialized), advice for programs with threads about calls that
# here have one caller, and a NULL that is no pointer, which POSIX forbids.
# Of the system's headers it is shown the one whose macros make declarations.
queue=$(echo '#include <sys/queue.h>' | cc -M -x c - | grep -o '/[^ ]*queue\.h')
mkdir -p build/cppcheck build/lint/sys
cp "$queue" build/lint/sys/queue.h
cppcheck --quiet --error-exitcode=1 --inline-suppr --std=c11 -j2 \
    --enable=warning,performance,portability --library=posix \
    --cppcheck-build-dir=build/cppcheck --suppress=missingIncludeSystem \
    --suppress=unusedStructMember --suppress=checkersReport \
    --suppress=normalCheckLevelMaxBranches --suppress=ctuuninitvar \
    --suppress=autoVariables --suppress=readdirCalled \
    --suppress=getpwuidCalled --suppress=getpwnamCalled \
    --suppress=getgrnamCalled --suppress=varFuncNullUB \
    -D_GNU_SOURCE -DQO_VERSION='""' -Ilib -Ibuild/lint \
    "${sources[@]}" || complain "cppcheck"

# Names of functions, not parts of longer names.
not_in_name='(^|[^[:alnum:]_.>])'
# lib/serve.c is a guest in other people's programs.
mapfile -t rest < <(but 'lib/\(sig\|serve\)\.c')
forbid "signals are for lib/sig.c alone" \
    "$not_in_name(sigaction|signal|bsd_signal) *\\(" "${rest[@]}"
mapfile -t rest < <(but lib/proc.c)
forbid "kill only through lib/proc.c, which refuses pids of 0 and below" \
    "$not_in_name(kill|killpg) *\\(" "${rest[@]}"
forbid "descriptors are close-on-exec from the start" \
    "$not_in_name(accept|pipe|dup|creat|mkstemp|epoll_create) *\\(" "${ours[@]}"
# Whole statements; /dev/null is opened to fill 0 to 2, which children keep.
found=$(code . "${ours[@]}" | awk -v call="$not_in_name"'(open|openat|socket|\
accept4|socketpair|pipe2|epoll_create1|eventfd|memfd_create) *\\(' '
    at == "" {
	text = $0
	sub(/^[^:]*:[0-9]*: /, "", text)
	if (text !~ call)
		next
	at = $0
	statement = ""
    }
    { statement = statement $0 }
    /;/ {
	if (statement !~ /CLOEXEC|\/dev\/null/)
		print at
	at = ""
    }')
[ -z "$found" ] || complain "without CLOEXEC"$'\n'"$found"
for f in "${ours[@]}"; do
	if [ -n "$(code "$not_in_name(v?fork) *\\(" "$f")" ] &&
	    [ -z "$(code "$not_in_name(exec[lv]p?e?|fexecve) *\\(" "$f")" ]
	then
		complain "$f: forks and does not exec"
	fi
done
# A pair belongs to the event, not into its text.
found=$(grep -nE -A2 '\blog_(debug|info|warnx?|errorx?)\(' "${ours[@]}" |
    grep -E '"[^"]*\b[a-z_]+=%')
[ -z "$found" ] || complain "pairs in a text: use log_event"$'\n'"$found"
found=$(grep -nE '\b(TODO|FIXME|HACK|stub)\b' "${ours[@]}")
[ -z "$found" ] || complain "left open"$'\n'"$found"

found=$(grep -nE '[[:blank:]]+$' "${text[@]}")
[ -z "$found" ] || complain "white space at the end of"$'\n'"$found"
for f in "${text[@]}"; do
	[ -z "$(tail -c 1 "$f")" ] || complain "$f: no newline at its end"
done

if command -v shellcheck >/dev/null; then
	shellcheck "${scripts[@]}" || complain "shellcheck"
else
	echo "lint: shellcheck is not here, scripts not checked"
fi

if [ ${#pages[@]} -gt 0 ]; then
	mandoc -Tlint -Wwarning "${pages[@]}" || complain "mandoc -Tlint"
fi

[ $bad -ne 0 ] || echo "lint: ${#c_files[@]} C files, ${#scripts[@]} scripts," \
    "${#pages[@]} manual pages: nothing found"
exit $bad
