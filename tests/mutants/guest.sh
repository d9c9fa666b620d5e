# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Runs the plan $UNIV_LOGDIR/plan in a guest, with modules and a library that contain all mutations. A line is the
# number of a mutation (0: none), how many seconds its test may take, and the test:
#   rxe|uroce PROGRAM [CASE]...      a program of tests/user over that device
#   packets PROGRAM [CASE]...        over uroce, whose queue pairs use packets even within a host
#   wire PROGRAM [CASE]...           over two uroce devices in two namespaces
#   loss|duplicate|reorder|corrupt PROGRAM [CASE]...      the same over a bad network
#   paths PROGRAM [CASE]...          the same between devices that have two addresses each
#   script NAME [rxe|uroce]          a script of tests/guest, on devices of that kind
#   kunit SUITE [CASE]...            on the test kernel; "all" stands for all suites
# The outcome of each goes to $UNIV_LOGDIR/results, a line: "begin NUMBER", then "lives", "dies" or "ends NUMBER SECONDS
# WHY"; "ends" is a kill after which the guest cannot be trusted, and the last thing that it does.

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"
# shellcheck source=tests/user/network.sh
. "$UNIV_REPO/tests/user/network.sh"

results=$UNIV_LOGDIR/results
mutant_ko=${UNIV_KO%/kernel/*}/mutant/univ_mutant.ko

# The numbers' module is loaded, and modprobe, which load_driver() asks for what a driver needs, does not know it
modinfo() { command modinfo "$@" | sed 's/univ_mutant,//; s/,\{0,1\}univ_mutant//'; }
export -f modinfo

told() { echo "$*" >>"$results"; }

choose() {
	export UNIV_MUTANT=$1
	echo "$1" >/sys/module/univ_mutant/parameters/number
}

prepare_network() {
	case $1 in
	loss) network loss 10% ;;
	duplicate) network duplicate 10% ;;
	reorder) network delay 1ms reorder 75% ;;
	corrupt) network corrupt 10% ;;
	paths) second_addresses ;;
	wire) ;;
	esac
}

# set_up KIND
set_up() {
	case $1 in
	rxe|uroce) use_link "$1" && need_univerbs ;;
	packets) use_link uroce && need_univerbs && echo 0 >/sys/module/uroce/parameters/local ;;
	script|kunit) ;;
	*) load_univerbs && UNIV_LINK=uroce link_module=uroce load_link && far_and_near && prepare_network "$1" ;;
	esac
}

take_down() {
	[ ! -e /sys/class/infiniband/rxe0 ] || remove_device rxe0 || return
	[ ! -e /sys/class/infiniband/w-near ] || far_gone || return
	unload_univerbs
}

# with_kind KIND WHAT...: the test itself
with_kind() {
	local kind=$1
	shift
	case $kind in
	script) UNIV_LINK=${2:-rxe} UNIV_STATE=/run/univ-mutant tests/vm/suite "tests/guest/$1.sh" ;;
	kunit)
		# Without a newline, which would be part of the name
		printf %s "univ_$1" >/sys/module/univ_mutant/parameters/suite
		[ "$*" != all ] || set --
		KUNIT_ONLY="$*" UNIV_STATE=/run/univ-mutant tests/vm/suite tests/guest/05-kunit.sh
		;;
	rxe) UNIV_LINK=rxe program "$@" && resources_unchanged ;;
	uroce|packets) UNIV_LINK=uroce program "$@" && resources_unchanged ;;
	paths) UNIV_LINK=uroce UNIV_TEST_DEVICE=w-near UNIV_TEST_PEER=w-far migrate "$@" && resources_unchanged ;;
	*) UNIV_LINK=uroce UNIV_TEST_DEVICE=w-near UNIV_TEST_PEER=w-far program "$@" && resources_unchanged ;;
	esac
}

# why FILE: how a test failed, and the first that it said, in one line
why() {
	{
		sed -n 's/^not ok .* # //p' "$1" | head -n 1
		tail -n +2 "$1" | grep -m 1 -oE '[a-z_]+\.c:[0-9]+: .*|EXPECTATION FAILED.*|not ok [0-9]+ .*|(BUG|WARNING|KASAN): .*|(general protection fault|divide error).*'
	} | paste -sd ' '
}

# shaken FILE: true if the kernel may be damaged: it complains, or a process is stuck in it
shaken() { grep -qE '^not ok .* # (no end after|killed)|the kernel log complains' "$1"; }

# one NUMBER LIMIT KIND WHAT...
one() {
	local number=$1 limit=$2 kind=$3 out=$UNIV_STATE/mutant-output t0=${EPOCHREALTIME/[.,]/} verdict=lives took reason=''
	shift 3
	rm -rf /run/univ-mutant
	told "begin $number"
	choose "$number"
	if ! bounded 60 set_up "$kind" >"$out" 2>&1; then
		verdict=dies reason="no device"
	else
		resources_mark
		run_test "$kind $*" "$limit" with_kind "$kind" "$@" >"$out" 2>&1 || { verdict=dies reason=$(why "$out"); }
		! grep -q '# SKIP' "$out" || reason="skipped"
	fi
	if [ $verdict = dies ]; then
		cp "$out" "$UNIV_LOGDIR/said-$number"
		# A script that fails leaves its devices behind, so the next one would fail for nothing.
		if [ "$kind" = script ] || shaken "$out"; then
			verdict=ends
		fi
	fi
	if ! bounded 60 take_down >"$out" 2>&1; then
		[ $verdict != lives ] || reason="the modules do not go: $(tail -n 1 "$out")"
		verdict=ends
	elif ! klog_check >"$out"; then
		[ $verdict != lives ] || reason="the kernel log complains: $(sed -n 2p "$out")"
		verdict=ends
	fi
	took=$(((${EPOCHREALTIME/[.,]/} - t0) / 100000))
	told "$verdict $number $((took / 10)).$((took % 10)) $reason"
	choose 0
	last_verdict=$verdict
}

insmod "$mutant_ko" || exit 1
killed='' last_verdict=
while read -r number limit what; do
	# The first test that fails is enough
	[ "$number" -eq 0 ] || [ "$number" != "$killed" ] || continue
	# shellcheck disable=SC2086 # words
	one "$number" "$limit" $what </dev/null
	[ "$last_verdict" != ends ] || break
	[ "$last_verdict" = lives ] || killed=$number
done <"$UNIV_LOGDIR/plan"
told end
report ok "the plan"
