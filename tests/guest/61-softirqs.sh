# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Allocations that may not wait fail at random in the whole guest: those in softirqs, and those of uroce's packets in any
# context. Meanwhile messages go between two devices, and every byte is compared.
#
# needs: uroce fault-injection
# runs in: test-kernel-moves

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

# shellcheck source=tests/user/network.sh
. "$UNIV_REPO/tests/user/network.sh"

knobs=/sys/kernel/debug
[ -e $knobs/failslab ] || skip "this kernel has no fault injection"
! leaks_looked_for || skip "kmemleak stops when one of its own allocations fails"

need_far_and_near || exit 1

# The kernel counts "times" down by each failure.
times=1000000000

# odds PERCENT: a command that makes so many of these allocations fail, of objects and of pages
odds() { echo "echo $1 >$knobs/failslab/probability && echo $1 >$knobs/fail_page_alloc/probability"; }

fail_none() { bash -c "$(odds 0)"; }

prepare() {
	local kind
	for kind in failslab fail_page_alloc; do
		echo N >$knobs/$kind/task-filter && echo Y >$knobs/$kind/ignore-gfp-wait && echo 0 >$knobs/$kind/verbose &&
			echo $times >$knobs/$kind/times || return
	done
	echo 0 >$knobs/fail_page_alloc/min-order
}

# starved CASE...: cases of lossy, in which one in five of these allocations fails while a connection exists. The kernel
# refuses to connect where it has no memory for the route. Some allocations of objects and of pages must have failed.
starved() {
	local status objects pages
	prepare || return
	LOSSY_CONNECTING=$(odds 0) LOSSY_CONNECTED=$(odds 20) program lossy "$@"
	status=$?
	fail_none || return
	objects=$((times - $(cat $knobs/failslab/times)))
	pages=$((times - $(cat $knobs/fail_page_alloc/times)))
	echo "failed: $objects objects, $pages pages"
	[ $status -eq 0 ] || return $status
	[ "$objects" -gt 0 ] && [ "$pages" -gt 0 ]
}

# raises COUNTER... -- COMMAND...: runs COMMAND, which must raise the sum of these counters of both devices.
raises() {
	local names=() before now
	while [ "$1" != -- ]; do
		names+=("$1")
		shift
	done
	shift
	before=$(sum_of "${names[@]}")
	"$@" || return
	now=$(sum_of "${names[@]}")
	echo "${names[*]}: $before before, $now now"
	[ "$now" -gt "$before" ]
}

sum_of() {
	local sum=0 name
	for name; do
		sum=$((sum + $(hw_counter w-near "$name") + $(hw_counter w-far "$name")))
	done
	echo $sum
}

# starve NAME SECONDS COMMAND...: one test. If COMMAND was killed, allocations still fail.
starve() {
	run_test "softirqs: $1" "$2" "${@:3}"
	fail_none
}

# A packet socket keeps packets for a while, so that uroce cannot use their memory again and has to allocate some for the
# next ones. The network loses no packet by itself. The devices must notice those that are lost without memory.
packets_lost() {
	LOSSY_MESSAGES=500 watched raises ack_timeout out_of_seq_request duplicate_request -- starved sends writes reads
}

# A packet that is delayed, and the second one of two, are copies.
copied_packets() {
	local status
	"$UNIV_LIBDIR/uroce-fault" set w-near duplicate 20% delay 20% delay_us 500 || return
	raises fault_duplicate -- raises fault_delay -- starved sends reads atomics
	status=$?
	"$UNIV_LIBDIR/uroce-fault" clear w-near && return $status
}

# Both sides use one device.
one_device() { UNIV_TEST_PEER=w-near raises local_msgs -- starved "$@"; }

starve "packets" 200 starved sends writes reads atomics
starve "packets, and a packet socket" 120 packets_lost
starve "packets that are delayed and duplicated" 120 copied_packets
starve "packets of queue pairs that are destroyed" 150 starved destroyed
starve "copies within one device" 100 one_device sends writes reads atomics

run_test "softirqs: a fresh process works afterwards" 60 program lossy sends
run_test "softirqs: nothing is left behind" 20 resources_unchanged
run_test "softirqs: both devices are removed" 20 far_gone
run_test "softirqs: the modules unload" 30 rmmod uroce
