# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Functions for scripts that run inside a guest: devices, the two stacks, and tests that report one line each. All state
# that must survive from one script to the next is in files under $UNIV_STATE.

: "${UNIV_REPO:=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}"
: "${UNIV_STATE:=/run/univ-test}"
: "${UNIV_LIBDIR:=$UNIV_REPO/build/user}"
: "${UNIV_KO:=$UNIV_REPO/kernel/core/univerbs.ko}"
: "${UNIV_LOGDIR:=$UNIV_STATE}"
export UNIV_REPO UNIV_STATE UNIV_LIBDIR UNIV_KO UNIV_LOGDIR
mkdir -p "$UNIV_STATE"

# shellcheck source=devices.sh
. "$UNIV_REPO/tests/vm/devices.sh"

# tcp_listens PORT: true if a process listens on the port, over IPv4 or IPv6.
tcp_listens() {
	local hex file address state
	printf -v hex '%04X' "$1"
	for file in /proc/net/tcp /proc/net/tcp6; do
		while read -r _ address _ state _; do
			[ "$state" != 0A ] || [ "${address##*:}" != "$hex" ] || return 0
		done <$file
	done
	return 1
}

# need_univerbs: sets up rxe0 and loads univerbs, which most tests need.
# shellcheck disable=SC2119
need_univerbs() { setup_device rxe0 && load_univerbs; }

# univ COMMAND...: runs COMMAND with the library of univerbs, as univerbs-run does.
univ() { LD_LIBRARY_PATH=$UNIV_LIBDIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$@"; }

# on_stack stock|univerbs COMMAND...: runs COMMAND with the library of that stack.
on_stack() {
	local stack=$1
	shift
	case $stack in
	stock) "$@" ;;
	univerbs) univ "$@" ;;
	*) note "no stack is called $stack"; return 2 ;;
	esac
}

# ---- the kernel log ------------------------------------------------------------------------------------------------

klog_bad='WARNING:|BUG:|BUG |Oops|KASAN|KCSAN|UBSAN|KFENCE|general protection|unable to handle|INFO: task .* blocked'
klog_bad+='|INFO: (possible|inconsistent|trying to)|(possible|inconsistent).*(lock|recursi)|suspicious RCU'
klog_bad+='|rcu.*stall|soft lockup|hard LOCKUP|refcount_t|list_(add|del) corruption|scheduling while atomic'
klog_bad+='|sleeping function|Kernel panic|cut here|stack-protector|nobody cared|Bad page|[Ll]eak'
klog_bad+='|Disabling lock debugging|ODEBUG: Out of memory|pagealloc:'

klog_mark() {
	local mark="univ-test mark $BASHPID $EPOCHREALTIME"
	# The mark has debug level, so that it stays off the console.
	echo "<7>$mark" >/dev/kmsg
	echo "$mark" >"$UNIV_STATE/klog-mark"
}

# without_known: filters the log. It drops messages of kmemleak about its own lack of memory, which look like worse
# errors, and its summary of each scan (kmemleak_check scans twice). It also drops faults of processes, which their exit
# status reports.
without_known() {
	grep -vE 'kmemleak: (Cannot allocate a scan area|[0-9]+ new suspected memory leaks)|traps: .*\[[0-9]+\] .* ip:'
}

# klog_follow: starts one process that copies the log to a file for all scripts of the guest. Running dmesg for each
# test would take longer than most tests.
klog_follow() {
	if [ ! -e "$UNIV_STATE/klog" ]; then
		: >"$UNIV_STATE/klog"
		cat /dev/kmsg >"$UNIV_STATE/klog" 2>/dev/null &
		disown $!
	fi
	[ -n "${univ_klog_fd:-}" ] || exec {univ_klog_fd}<"$UNIV_STATE/klog"
}

# klog_quiet OLD NEW: true if the log between those marks has no bad line. False also if NEW does not appear within a
# second, as when the follower was overrun.
klog_quiet() {
	local line part='' bad='' end=$((${EPOCHREALTIME/[.,]/} + 1000000))
	while [ "${EPOCHREALTIME/[.,]/}" -lt "$end" ]; do
		while read -r -u "$univ_klog_fd" line; do
			line=$part$line part=''
			case $line in
			*"$1"*) bad='' ;;
			*"$2"*) [ -z "$bad" ]; return ;;
			esac
			[[ ! $line =~ $klog_bad ]] || bad=1
		done
		part+=$line
		pause 0.005
	done
	return 1
}

# klog_check: false, with the lines, if the kernel complained since the last call. It reads the log between the last
# mark and a new one, or from the start if the old mark has been overrun. A splat is shown completely.
klog_check() {
	local old new
	read -r old <"$UNIV_STATE/klog-mark"
	klog_mark
	read -r new <"$UNIV_STATE/klog-mark"
	klog_quiet "$old" "$new" && return
	dmesg | without_known | BAD=$klog_bad OLD=$old NEW=$new awk '
		index($0, ENVIRON["OLD"]) { bad = left = n = 0; next }
		index($0, ENVIRON["NEW"]) { exit }
		$0 ~ ENVIRON["BAD"] { bad++; left = 30 }
		left > 0 && n < 80 { line[n++] = $0; left-- }
		END {
			if (!bad) exit 0
			print "# the kernel log complains:"
			for (i = 0; i < n; i++) print "#   " line[i]
			exit 1
		}'
}

# leaks_looked_for: true on the test kernel, unless it was started with UNIV_LEAKS=off (tests/kernel/run).
leaks_looked_for() { grep -qw kmemleak=on /proc/cmdline; }

# kmemleak_check: on kernels with kmemleak, scans twice, since one scan may miss a pointer that is being moved.
kmemleak_check() {
	local file=/sys/kernel/debug/kmemleak leaks
	leaks_looked_for || return 0
	# kmemleak refuses the command after it has given up.
	{ echo scan >$file && sleep 6 && echo scan >$file; } || { note "kmemleak no longer looks"; return 1; }
	# Files of debugfs have no size, so read the file to see whether it is empty.
	leaks=$(head -n 60 $file)
	[ -n "$leaks" ] || return 0
	note "memory leaked:"
	sed 's/^/# /' <<<"$leaks"
	echo clear >$file
	return 1
}

# no_leaks NAME: the same check as a test, which prints a line only if it fails.
no_leaks() {
	local leaks
	leaks=$(kmemleak_check) && return
	printf '%s\n' "$leaks"
	fails "$1"
}

# lockdep_check: on kernels with lockdep. Most kernel reports switch lockdep off, and later reports about our locks
# would be lost.
lockdep_check() {
	local what state
	[ -e /proc/lockdep_stats ] || return 0
	read -r what state < <(grep debug_locks: /proc/lockdep_stats)
	[ "$what $state" != "debug_locks: 1" ] || return 0
	note "lockdep no longer looks"
	return 1
}

# ---- tests ---------------------------------------------------------------------------------------------------------

# counted WHAT: sets $counted.
counted() {
	counted=0
	[ ! -s "$UNIV_STATE/$1" ] || read -r counted <"$UNIV_STATE/$1"
}

count() {
	counted "$1"
	echo $((++counted)) >"$UNIV_STATE/$1"
}

# report ok|"not ok" NAME [TRAILER]: prints the line of a result. A failure needs more, see fails and run_test.
report() {
	local verdict=$1 name=$2 trailer=${3:-}
	case $verdict:$trailer in
	ok:'# SKIP'*) count skipped ;;
	ok:*) count passed ;;
	*) count failed ;;
	esac
	count number
	printf '%s %s - %s%s\n' "$verdict" "$counted" "$name" "${trailer:+ $trailer}"
}

# Print the kernel stack of each process of a group, for a test that hangs.
show_stuck() {
	local stat pid comm group
	for stat in /proc/[0-9]*/stat; do
		{ read -r pid comm _ _ group _ <"$stat"; } 2>/dev/null || continue
		[ "$group" = "$1" ] || continue
		echo "stuck: $pid $comm"
		cat "/proc/$pid/task/"*/stack 2>/dev/null | head -n 24
	done
}

# bounded SECONDS COMMAND...: runs COMMAND, which may be a function, in a process group that is killed after SECONDS or
# when COMMAND ends, with all processes that it left. Status 124: it was killed after SECONDS; 137: it even survived
# that. UNIV_LIMITS=off: the limit is a day, as tests/vm/run has it under a debugger.
bounded() {
	local limit=$1 leader status=0 ended
	shift
	[ "${UNIV_LIMITS:-}" != off ] || limit=86400
	set -m
	( set +m; trap - EXIT; "$@" ) &
	leader=$!
	set +m
	if ! poll_until "$limit" group_leader_gone "$leader"; then
		show_stuck "$leader"
		status=124
	fi
	kill -KILL -- "-$leader" 2>/dev/null
	if ! poll_until 10 group_leader_gone "$leader"; then
		echo "process $leader cannot be killed"
		disown "$leader"
		return 137
	fi
	wait "$leader" 2>/dev/null
	ended=$?
	[ $status -ne 0 ] || status=$ended
	return $status
}

group_leader_gone() {
	local state
	{ read -r _ _ state _ <"/proc/$1/stat"; } 2>/dev/null || return 0
	[ "$state" = Z ]
}

# forgave MOST SYMPTOM: counts a failure that a test forgives, since this symptom of another program came with it. If that
# happens more than MOST times in a guest, finish_tests fails.
forgave() {
	echo "forgiven: $2"
	echo "$1 $2" >>"$UNIV_STATE/forgiven"
}

# repeat_while TIMES SYMPTOM COMMAND...: repeats COMMAND while it fails and says SYMPTOM, a regular expression, up to TIMES
# in this guest. Any other failure is final. What COMMAND said is counted, so each of several symptoms by itself. Each pause
# is twice as long as the last one: 10 pauses take 20 seconds, and UNIV_SLOW times as long on a slow kernel.
repeat_while() {
	local most=$1 symptom=$2 tries=0 ms=$((20 * ${UNIV_SLOW:-1})) out step
	shift 2
	until out=$("$@" 2>&1); do
		if [[ ! $out =~ $symptom ]] || [ $((tries++)) -ge "$most" ]; then
			echo "$out"
			return 1
		fi
		forgave "$most" "$1 said: ${BASH_REMATCH[0]}"
		printf -v step '%d.%03d' $((ms / 1000)) $((ms % 1000))
		pause "$step"
		ms=$((ms * 2))
	done
	echo "$out"
}

# repeated TIMES WHY: says how often a test did a step again because a busy machine had spoiled it. That forgives no failure,
# but the log has to show how often it happens, so run_test keeps the line of a test that passes.
repeated() { [ "$1" -eq 0 ] || echo "# repeated: $1 times ($2)"; }

# A test says this line if all that it has against perftest is a rate of "inf".
only_inf="perftest has measured no rate: inf"

# has_no_clock OUTPUT: true if perftest could not determine the processor's clock, which happens on a busy host, and
# nothing else is wrong. It then ends with status 1 before it prints any result (the test kills the other side), or it
# prints "inf" as a rate.
has_no_clock() {
	! grep -qxF "$only_inf" "$1" || return 0
	grep -qx "Can't produce a report" "$1" || return
	! sed -nE 's/^(client|server): exit status //p' "$1" | grep -qvxE '1|137'
}

# With -R and -z, perftest prints one of these lines if it connects before its peer listens again, and for no other failed
# connection: the service is invalid, which a connection reports as the first, and a datagram as the second.
not_listening='Event: RDMA_CM_EVENT_REJECTED; error: 8.'
not_resolving='Event: RDMA_CM_EVENT_UNREACHABLE; error: 1.'

# forgiven NAME OUTPUT: true if a test that ended with status 1 did so for a known symptom of perftest itself. A module
# that refuses every second connection would show the second or third symptom, but more than twice in a guest.
forgiven() {
	local most symptom
	if [ $tries -le 2 ] && has_no_clock "$2"; then
		most=4 symptom="perftest has no clock"
	elif [ $tries -gt 1 ] || [[ ! $1 =~ ib_.*\ -[Rz] ]]; then
		return 1
	elif grep -qF "$not_listening" "$2"; then
		most=2 symptom="perftest came too early, rejected"
	elif grep -qF "$not_resolving" "$2"; then
		most=2 symptom="perftest came too early, unreachable"
	else
		return 1
	fi
	note "$1: $(forgave $most "$symptom")"
}

# why_failed STATUS OUTPUT KLOG: prints the most telling line: the kernel's first complaint, the first failed check, or
# the last line.
why_failed() {
	local output=$2 klog=$3
	if [ -n "$klog" ]; then
		grep -v 'cut here' <<<"$klog" | grep -Em 1 -- "$klog_bad" | sed -E 's/^#? *(\[[^]]*\] *)*//'
		return
	fi
	[ "$1" != 124 ] || { echo "it did not end in time"; return; }
	[ -s "$output" ] || { echo "exit status $1, and it said nothing"; return; }
	grep -aEm 1 '^([a-z0-9_]+\.[ch]:[0-9]+: |no line like )|EXPECTATION FAILED' "$output" || grep -av '^[[:space:]]*$' "$output" | tail -n 1
}

# again OUTPUT: prints the command that repeats the failed test, or its script; prints nothing if make t can repeat
# neither. again_as is the name of the test for make t, or the test has said it in a line "again as: NAME"; UNIV_SCRIPT is
# the script that runs, UNIV_K the kernel, or "other"; UNIV_AGAIN is the command itself.
again() {
	local what=${again_as:-$(sed -n 's/^again as: //p' "$1" | head -n 1)} script=${UNIV_SCRIPT:-} seed
	[ -z "${UNIV_AGAIN:-}" ] || { printf '# again: %s\n' "$UNIV_AGAIN"; return; }
	[ "${UNIV_K:-}" != other ] || return 0
	if [ -n "$what" ]; then
		# The first failed case of a program of tests/user.
		[[ $what = *' '* ]] || what+=$(sed -nE 's/^[a-z0-9_]+\.[ch]:[0-9]+: ([a-z0-9_]+): .*/ \1/p' "$1" | head -n 1)
		# make t takes a regular expression, and quotes it.
		what=${what//[\'()\$]/.}
	elif [ "${script%/*}" = tests/guest ]; then
		what=${script##*/}
	else
		return 0
	fi
	seed=$(sed -nE 's/^seed: (UNIV_TEST_SEED=[0-9]+)$/\1/p' "$1" | head -n 1)
	printf "# again: %smake t T='%s' LINK=%s K=%s\n" "${seed:+$seed }" "$what" "$UNIV_LINK" "${UNIV_K:-stock}"
}

# say_why STATUS OUTPUT KLOG: prints the last lines of a failed test.
say_why() {
	printf '# reason: %s\n' "$(why_failed "$@")"
	again "$2"
}

# fails NAME [TRAILER]: a failure that did not come from run_test, with its last lines. The name says what failed.
fails() {
	report "not ok" "$@"
	printf '# reason: %s\n' "$*"
	again /dev/null
}

# run_test NAME SECONDS COMMAND...: runs one test. COMMAND may be a function; 0 passes, 77 skips (the last line has the
# reason). A bad kernel log fails the test. A kernel with many debug checks gets UNIV_SLOW times as long.
run_test() {
	local name=$1 limit=$(($2 * ${UNIV_SLOW:-1})) out=$UNIV_STATE/output.$BASHPID status t0 t1 took klog tries=0
	shift 2
	# See tests/vm/suite.
	if [ -n "${UNIV_FIRST_SEED:-}" ]; then
		counted number
		local -x UNIV_TEST_SEED=$((UNIV_FIRST_SEED + counted + 1))
	fi
	t0=${EPOCHREALTIME/[.,]/}
	while :; do
		bounded "$limit" "$@" >"$out" 2>&1
		status=$?
		tries=$((tries + 1))
		[ $status -eq 1 ] && forgiven "$name" "$out" || break
	done
	klog=$(klog_check) || { [ $status -ne 0 ] && [ $status -ne 77 ] || status=kernel; }
	t1=${EPOCHREALTIME/[.,]/}
	printf -v took '(%d.%d s)' $(((t1 - t0) / 1000000)) $(((t1 - t0) / 100000 % 10))
	case $status in
	0)
		report ok "$name" "$took"
		grep -a '^# repeated: ' "$out"
		return 0
		;;
	77) report ok "$name" "# SKIP $(tail -n 1 "$out")"; return 0 ;;
	124) report "not ok" "$name" "# no end after $limit s" ;;
	137) report "not ok" "$name" "# killed, or cannot be" ;;
	kernel) report "not ok" "$name" "# kernel log $took" ;;
	*) report "not ok" "$name" "# exit status $status $took" ;;
	esac
	# awk ends the last line even if the program did not.
	tail -n 40 "$out" | awk '{ print "#   " $0 }'
	[ -z "$klog" ] || printf '%s\n' "$klog"
	say_why "$status" "$out" "$klog"
	return 1
}

# rounds N: prints the part of N that a slow kernel does in the time, like test_rounds() of tests/user.
rounds() { echo $((($1 + ${UNIV_SLOW:-1} - 1) / ${UNIV_SLOW:-1})); }

skip() { echo "$*"; exit 77; }

# all_forgiven: prints how often each symptom of another program was forgiven, and fails for those that came too often.
all_forgiven() {
	local times most symptom
	while read -r times most symptom; do
		note "forgiven: $times of at most $most ($symptom)"
		[ "$times" -le "$most" ] || UNIV_SCRIPT= fails "forgiven $most times at most: $symptom" "# $times times"
	done < <(sort "$UNIV_STATE/forgiven" 2>/dev/null | uniq -c)
}

# finish_tests: prints the totals; false if a test failed or none ran.
finish_tests() {
	local passed failed
	lockdep_check || UNIV_SCRIPT= fails "lockdep looked to the end"
	no_leaks "no memory is lost in ${UNIV_SCRIPT:-the end}"
	klog_check || UNIV_SCRIPT= fails "the kernel log says nothing more"
	all_forgiven
	counted passed; passed=$counted
	counted failed; failed=$counted
	counted skipped
	printf '%s passed, %s failed, %s skipped\n' "$passed" "$failed" "$counted"
	[ "$failed" -eq 0 ] && [ $((passed + counted)) -gt 0 ]
}

klog_follow
[ -e "$UNIV_STATE/klog-mark" ] || klog_mark
