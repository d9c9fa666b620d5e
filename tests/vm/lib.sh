# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For scripts that run inside a guest: devices, the two stacks, and tests that report one line each.
# Everything that must survive from one script to the next lies in files under $UNIV_STATE.

: "${UNIV_REPO:=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}"
: "${UNIV_STATE:=/run/univ-test}"
: "${UNIV_LIBDIR:=$UNIV_REPO/build/user}"
: "${UNIV_KO:=$UNIV_REPO/kernel/core/univerbs.ko}"
: "${UNIV_LOGDIR:=$UNIV_STATE}"
export UNIV_REPO UNIV_STATE UNIV_LIBDIR UNIV_KO UNIV_LOGDIR
mkdir -p "$UNIV_STATE"

note() { printf '# %s\n' "$*"; }

# ---- waiting -------------------------------------------------------------------------------------------------------

# pause SECONDS: a sleep that forks nothing; emulated forks are dear
pause() {
	if [ -z "${univ_pause_fd:-}" ]; then
		[ -p "$UNIV_STATE/pause" ] || mkfifo "$UNIV_STATE/pause" 2>/dev/null
		exec {univ_pause_fd}<>"$UNIV_STATE/pause"
	fi
	read -r -t "$1" -u "$univ_pause_fd" _ || :
}

# poll_until SECONDS COMMAND...: polls, true as soon as COMMAND is
poll_until() {
	local end=$((${EPOCHREALTIME/[.,]/} + $1 * 1000000))
	shift
	until "$@"; do
		[ "${EPOCHREALTIME/[.,]/}" -lt "$end" ] || return 1
		pause "${WAIT_STEP:-0.02}"
	done
}

# wait_until SECONDS COMMAND...: the same; a kernel that checks a lot gets UNIV_SLOW times as long, as run_test gives it
wait_until() {
	local seconds=$(($1 * ${UNIV_SLOW:-1}))
	shift
	poll_until "$seconds" "$@"
}

# tcp_listens PORT: somebody accepts on it, IPv4 or IPv6
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

# ---- devices -------------------------------------------------------------------------------------------------------

gid_ready() {
	local gid
	read -r gid 2>/dev/null <"/sys/class/infiniband/$1/ports/1/gids/1" || return 1
	case $gid in 0000:0000:0000:0000:0000:ffff:*) return 0 ;; esac
	return 1
}

# The kind of device that tests run on: rxe, or uroce, which takes its rings itself
: "${UNIV_LINK:=rxe}"
export UNIV_LINK

link_module=$UNIV_LINK
[ "$UNIV_LINK" != rxe ] || link_module=rdma_rxe

# load_driver NAME: a module of ours other than univerbs, and what it needs of the kernel's
load_driver() {
	local ko=${UNIV_KO%/core/*}/$1/$1.ko
	[ ! -e "/sys/module/$1" ] || return 0
	# shellcheck disable=SC2119
	load_univerbs || return
	# shellcheck disable=SC2046 # names
	modprobe -a $(modinfo -F depends "$ko" | tr , '\n' | grep -vx univerbs) && insmod "$ko"
}

# use_link KIND: tests from here on make devices of that kind; rxe0 goes, of which kind it ever is
use_link() {
	[ ! -e /sys/class/infiniband/rxe0 ] || remove_rxe rxe0 || return
	UNIV_LINK=$1
	link_module=$UNIV_LINK
	[ "$UNIV_LINK" != rxe ] || link_module=rdma_rxe
}

# load_link: the module behind it
load_link() {
	if [ "$UNIV_LINK" = rxe ]; then
		modprobe rdma_rxe
	else
		load_driver "$UNIV_LINK"
	fi
}

# link_number NAME: which network is its own
link_number() {
	local n
	[ "$1" != rxe0 ] || { echo 0; return; }
	n=$(cat "$UNIV_STATE/rxe.$1" 2>/dev/null) || n=$(($(cat /dev/null "$UNIV_STATE"/rxe.* 2>/dev/null | sort -n | tail -n 1) + 1))
	echo "$n" | tee "$UNIV_STATE/rxe.$1"
}

# setup_rxe NAME [NETDEV]: an rxe device whose GID index 1 is its IPv4 address, over NETDEV (which has its addresses
# already) or over NAME-net, made here. One netdev that talks to its own address carries RoCE within the guest. A veth,
# not a dummy, since a dummy has no speed and the kernel warns of that each time a port is queried. The MTU leaves room
# for the largest RDMA one (4096). Addresses are 10.77.N.1 and fd77:N::1, the same again for a device that comes back:
# N is 0 for rxe0, which the programs that nobody here wrote look for, and counts from 1 for the others.
setup_rxe() {
	local name=$1 dev=${2:-} n
	[ ! -e "/sys/class/infiniband/$name" ] || return 0
	load_link || return
	if [ -z "$dev" ]; then
		dev=$name-net
		n=$(link_number "$name")
		if [ ! -e "/sys/class/net/$dev" ]; then
			ip link add "$dev" mtu 4200 type veth peer name "$name-peer" mtu 4200 &&
				ip link set "$name-peer" addrgenmode none up &&
				ip addr add "10.77.$n.1/24" dev "$dev" &&
				ip -6 addr add "fd77:$n::1/64" dev "$dev" nodad || return
		fi
		ip link set "$dev" up || return
	fi
	rdma link add "$name" type "$UNIV_LINK" netdev "$dev" || return
	wait_until 5 gid_ready "$name" || { note "$name: GID 1 is not an IPv4 address"; return 1; }
}

rxe_netdev() { cat "/sys/class/infiniband/$1/ports/1/gid_attrs/ndevs/1"; }

# remove_rxe NAME: the device and its netdev
remove_rxe() {
	rdma link del "$1" || return
	[ ! -e "/sys/class/net/$1-net" ] || ip link del "$1-net"
}

univerbs_loaded() { [ -e /sys/module/univerbs ]; }

# load_univerbs [MODULE PARAMETER...]
# shellcheck disable=SC2120
load_univerbs() {
	! univerbs_loaded || return 0
	modprobe -a ib_core ib_uverbs rdma_ucm || return
	insmod "$UNIV_KO" "$@"
}

unload_univerbs() {
	[ ! -e /sys/module/uroce ] || rmmod uroce || return
	! univerbs_loaded || rmmod univerbs
}

# need_univerbs: what most tests start from
# shellcheck disable=SC2119
need_univerbs() { setup_rxe rxe0 && load_univerbs; }

# univ COMMAND...: over univerbs, the way univerbs-run does it
univ() { LD_LIBRARY_PATH=$UNIV_LIBDIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$@"; }

# on_stack stock|univerbs COMMAND...
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
	# at debug level, so that it stays off the console
	echo "<7>$mark" >/dev/kmsg
	echo "$mark" >"$UNIV_STATE/klog-mark"
}

# without_known: the log without what kmemleak says when it finds no memory, in words that sound worse, without what it says
# of each look (kmemleak_check looks twice), and without the faults of processes, of which their exit status tells
without_known() {
	grep -vE 'kmemleak: (Cannot allocate a scan area|[0-9]+ new suspected memory leaks)|traps: .*\[[0-9]+\] .* ip:'
}

# klog_follow: one process copies the log to a file for all scripts of the guest; a dmesg for each test takes longer than
# most tests
klog_follow() {
	if [ ! -e "$UNIV_STATE/klog" ]; then
		: >"$UNIV_STATE/klog"
		cat /dev/kmsg >"$UNIV_STATE/klog" 2>/dev/null &
		disown $!
	fi
	[ -n "${univ_klog_fd:-}" ] || exec {univ_klog_fd}<"$UNIV_STATE/klog"
}

# klog_quiet OLD NEW: true if between those marks is nothing that looks bad; false also if NEW does not come in a second,
# as when the follower was overrun
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

# klog_check: false, and prints, if the kernel complained since the last call. Looks at what lies between the last mark
# and a new one; from the start of the log if the old mark has been overrun. A splat is shown whole.
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

# leaks_looked_for: true on the test kernel, unless it was started with UNIV_LEAKS=off (tests/kernel/run)
leaks_looked_for() { grep -qw kmemleak=on /proc/cmdline; }

# kmemleak_check: on kernels that look for lost memory, look twice, since one look may see a pointer in flight
kmemleak_check() {
	local file=/sys/kernel/debug/kmemleak leaks
	leaks_looked_for || return 0
	# Refused once it has given up
	{ echo scan >$file && sleep 6 && echo scan >$file; } || { note "kmemleak no longer looks"; return 1; }
	# Such a file has no size, whatever there is to read
	leaks=$(head -n 60 $file)
	[ -n "$leaks" ] || return 0
	note "memory leaked:"
	sed 's/^/# /' <<<"$leaks"
	echo clear >$file
	return 1
}

# no_leaks NAME: the same as a test, of which nothing is said unless it fails
no_leaks() {
	local leaks
	leaks=$(kmemleak_check) && return
	report "not ok" "$1"
	printf '%s\n' "$leaks"
}

# lockdep_check: on kernels that watch locks. Most reports of any kind switch that off, and with it goes all that we would
# hear of ours.
lockdep_check() {
	local what state
	[ -e /proc/lockdep_stats ] || return 0
	read -r what state < <(grep debug_locks: /proc/lockdep_stats)
	[ "$what $state" != "debug_locks: 1" ] || return 0
	note "lockdep no longer looks"
	return 1
}

# ---- tests ---------------------------------------------------------------------------------------------------------

# counted WHAT: sets $counted
counted() {
	counted=0
	[ ! -s "$UNIV_STATE/$1" ] || read -r counted <"$UNIV_STATE/$1"
}

count() {
	counted "$1"
	echo $((++counted)) >"$UNIV_STATE/$1"
}

# report ok|"not ok" NAME [TRAILER]: a line for a result that did not come from run_test
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

# Where each process of a group stands in the kernel, for a test that hangs
show_stuck() {
	local stat pid comm group
	for stat in /proc/[0-9]*/stat; do
		{ read -r pid comm _ _ group _ <"$stat"; } 2>/dev/null || continue
		[ "$group" = "$1" ] || continue
		echo "stuck: $pid $comm"
		cat "/proc/$pid/task/"*/stack 2>/dev/null | head -n 24
	done
}

# bounded SECONDS COMMAND...: COMMAND, a function too, in a process group that is killed after SECONDS or when COMMAND
# ends, with whatever it left running. 124: it was killed for time; 137: it even survived that.
bounded() {
	local limit=$1 leader status=0 ended
	shift
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

# Words of perftest's when it cannot tell the processor's clock, which happens on a host that is busy. It has tested nothing
# then, or it prints "inf" where a rate belongs.
no_clock="Can't produce a report|^ *[0-9]+ +[0-9]+ .*\\<inf\\>"

# Words of perftest's with -R and -z, and of no other failed connection, when it came before its peer listened again: invalid
# service, or not supported over datagrams
nobody_listens='Event: RDMA_CM_EVENT_(REJECTED; error: 8|UNREACHABLE; error: 1)\.'

# forgiven NAME OUTPUT: true if the test failed by a symptom of perftest's own, which is counted and said. Without a clock it
# has tested nothing and may try twice more, otherwise once.
forgiven() {
	local symptom=
	if grep -qE "$no_clock" "$2"; then
		symptom="perftest has no clock"
		[ $tries -le 2 ] || return
	elif [[ $1 =~ ib_.*\ -[Rz] ]] && grep -qE "$nobody_listens" "$2"; then
		symptom="perftest came too early"
		[ $tries -le 1 ] || return
		count early
	fi
	[ -n "$symptom" ] || return
	count forgiven
	note "$1: once more, $symptom"
}

# why_failed STATUS OUTPUT KLOG: the line that says most: the kernel's first complaint, the first check that failed, or the
# last line
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

# again OUTPUT: prints the command that repeats the failed test, or its script; nothing if make t can repeat neither. again_as
# is how make t calls the test, UNIV_SCRIPT the script that runs, UNIV_K the kernel, or "other"; UNIV_AGAIN is the command
# itself.
again() {
	local what=${again_as:-} script=${UNIV_SCRIPT:-}
	[ -z "${UNIV_AGAIN:-}" ] || { printf '# again: %s\n' "$UNIV_AGAIN"; return; }
	[ "${UNIV_K:-}" != other ] || return 0
	if [ -n "$what" ]; then
		# The first case of a program of tests/user that failed
		[[ $what = *' '* ]] || what+=$(sed -nE 's/^[a-z0-9_]+\.[ch]:[0-9]+: ([a-z0-9_]+): .*/ \1/p' "$1" | head -n 1)
		# make t takes a regular expression, and quotes it
		what=${what//[\'()\$]/.}
	elif [ "${script%/*}" = tests/guest ]; then
		what=${script##*/}
	else
		return 0
	fi
	printf "# again: make t T='%s' LINK=%s K=%s\n" "$what" "$UNIV_LINK" "${UNIV_K:-stock}"
}

# say_why STATUS OUTPUT KLOG: prints the last lines of a failed test
say_why() {
	printf '# reason: %s\n' "$(why_failed "$@")"
	again "$2"
}

# run_test NAME SECONDS COMMAND...: one test. COMMAND may be a function; 0 passes, 77 skips (last line says why). The
# kernel log counts too. A kernel that checks a lot gets UNIV_SLOW times as long.
run_test() {
	local name=$1 limit=$(($2 * ${UNIV_SLOW:-1})) out=$UNIV_STATE/output.$BASHPID status t0 t1 took klog tries=0
	shift 2
	t0=${EPOCHREALTIME/[.,]/}
	while :; do
		bounded "$limit" "$@" >"$out" 2>&1
		status=$?
		tries=$((tries + 1))
		[ $status -ne 0 ] && forgiven "$name" "$out" || break
	done
	klog=$(klog_check) || { [ $status -ne 0 ] && [ $status -ne 77 ] || status=kernel; }
	t1=${EPOCHREALTIME/[.,]/}
	printf -v took '(%d.%d s)' $(((t1 - t0) / 1000000)) $(((t1 - t0) / 100000 % 10))
	case $status in
	0) report ok "$name" "$took"; return 0 ;;
	77) report ok "$name" "# SKIP $(tail -n 1 "$out")"; return 0 ;;
	124) report "not ok" "$name" "# no end after $limit s" ;;
	137) report "not ok" "$name" "# killed, or cannot be" ;;
	kernel) report "not ok" "$name" "# kernel log $took" ;;
	*) report "not ok" "$name" "# exit status $status $took" ;;
	esac
	# awk ends the last line even where the program did not
	tail -n 40 "$out" | awk '{ print "#   " $0 }'
	[ -z "$klog" ] || printf '%s\n' "$klog"
	say_why "$status" "$out" "$klog"
	return 1
}

# rounds N: as many of N as a slow kernel does in the time, like test_rounds() of tests/user
rounds() { echo $((($1 + ${UNIV_SLOW:-1} - 1) / ${UNIV_SLOW:-1})); }

skip() { echo "$*"; exit 77; }

# finish_tests: the totals; false if a test failed or none ran
finish_tests() {
	local passed failed
	lockdep_check || report "not ok" "lockdep looked to the end"
	no_leaks "no memory is lost in the end"
	klog_check || report "not ok" "the kernel log says nothing more"
	counted forgiven
	[ "$counted" -eq 0 ] || note "$counted tests ran a second time for a symptom of perftest's own"
	counted rxe_warnings
	[ "$counted" -eq 0 ] || note "warnings of rdma_rxe about its own bug: $counted"
	counted early
	# A module that refuses every second connection would look like this
	[ "$counted" -le 2 ] || report "not ok" "perftest came too early twice at most" "# $counted times"
	counted passed; passed=$counted
	counted failed; failed=$counted
	counted skipped
	printf '%s passed, %s failed, %s skipped\n' "$passed" "$failed" "$counted"
	[ "$failed" -eq 0 ] && [ $((passed + counted)) -gt 0 ]
}

klog_follow
[ -e "$UNIV_STATE/klog-mark" ] || klog_mark
