# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For stages that run tests on the host: the same result lines as tests/vm/lib.sh gives in a guest.

host_results=0 host_failed=0 host_again=

# host_reason STATUS OUTPUT: the line that tells most, as why_failed() of tests/vm/lib.sh: the first error, or the last line
host_reason() {
	[ "$1" != 124 ] || { echo "it did not end in time"; return; }
	[ -n "$2" ] || { echo "exit status $1, and it said nothing"; return; }
	grep -am 1 -E '(^|[: ])(fatal )?error: |\*\*\*' <<<"$2" || grep -av '^[[:space:]]*$' <<<"$2" | tail -n 1
}

# host_test NAME SECONDS COMMAND...: 0 passes, 77 skips with its last line as the reason. The caller may set host_again to a
# command that repeats the test alone.
host_test() {
	local name=$1 limit=$2 out status start=$SECONDS
	shift 2
	out=$(timeout -k 5 "$limit" "$@" 2>&1)
	status=$?
	host_results=$((host_results + 1))
	case $status in
	0) printf 'ok %s - %s (%s s)\n' $host_results "$name" $((SECONDS - start)) ;;
	77) printf 'ok %s - %s # SKIP %s\n' $host_results "$name" "$(tail -n 1 <<<"$out")" ;;
	*)
		printf 'not ok %s - %s # exit status %s\n' $host_results "$name" $status
		tail -n 60 <<<"$out" | sed 's/^/#   /'
		printf '# reason: %s\n' "$(host_reason $status "$out")"
		[ -z "$host_again" ] || printf '# again: %s\n' "$host_again"
		host_failed=$((host_failed + 1))
		;;
	esac
	[ $status -eq 0 ] || [ $status -eq 77 ]
}

# host_shown NAME COMMAND...: one that takes long, bounds itself, and shows how far it is, and why it fails, on stderr
host_shown() {
	local name=$1 start=$SECONDS status
	shift
	host_results=$((host_results + 1))
	"$@" >/dev/null
	status=$?
	if [ $status -eq 0 ]; then
		printf 'ok %s - %s (%s s)\n' $host_results "$name" $((SECONDS - start))
	else
		printf 'not ok %s - %s # exit status %s\n' $host_results "$name" $status
		printf '# reason: exit status %s, see above\n' $status
		[ -z "$host_again" ] || printf '# again: %s\n' "$host_again"
		host_failed=$((host_failed + 1))
	fi
	return $status
}

host_finish() { [ $host_failed -eq 0 ]; }
