# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Queue pairs of one host send by copying, or by packets if uroce is told to, and a program must not see a difference.
# tests/user/tools/seen.c prints everything that a program sees, and the script compares both outputs. 75-by-packets.sh runs
# more programs by packets.
#
# needs: uroce
# runs in: guest coverage-uroce coverage-library test-kernel-networks

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

# shellcheck source=tests/user/packets.sh
. "$UNIV_REPO/tests/user/packets.sh"

need_both || exit 1

# see WHICH: prints the results of all exchanges by copying (1) or by packets (0). All of them run on one processor: each
# processor has its own backlog, so packets of a process that migrates overtake each other, and UC permits that.
see() {
	local before after
	echo "$1" >/sys/module/uroce/parameters/local
	before=$(packets)
	univ taskset 1 "$TEST_BIN/seen" >"$UNIV_STATE/seen.$1" || { cat "$UNIV_STATE/seen.$1"; return 1; }
	after=$(packets)
	case $1 in
	1) [ "$before" = "$after" ] || { echo "packets were used"; return 1; } ;;
	0) [ "$before" != "$after" ] || { echo "no packets were used"; return 1; } ;;
	esac
}

same_by_both() {
	see 1 && see 0 || return
	# The name of an exchange stands alone in a line.
	diff -u -F '^[a-z]' --label copied --label packets "$UNIV_STATE/seen.1" "$UNIV_STATE/seen.0"
}

run_test "by copying as by packets: all exchanges" 200 same_by_both

by_copying() {
	echo 1 >/sys/module/uroce/parameters/local
	program "$@"
}

# The case that is not run here starts under other conditions with packets: "drains" of lossy.
states_by_packets() {
	echo 0 >/sys/module/uroce/parameters/local
	program api_states sqe_datagram sqe_unreliable sqe_reliable sqe_list sqe_left_at_once sqd_idle
}

# A peer on another host reports only a status; these are checks of the local requests.
own_mistakes() {
	program mistakes_uroce bind_refused bind_unknown_region bind_twice invalidate_region datagram_too_long lost_before
}

# The responder for packets checks keys and lengths, and reports its first message, in code of its own.
refused() {
	program bad_requests remote_keys remote_rights receive_too_small && program api_event established && program api_rc uc_all
}

# Requests and responses are lost, and each request is still executed exactly once.
# among_losses PPM PROGRAM CASE...: so many in a million packets are lost
among_losses() {
	local status
	echo 0 >/sys/module/uroce/parameters/local
	echo "$1" >/sys/kernel/debug/uroce/both/drop_ppm
	program "${@:2}"
	status=$?
	echo 0 >/sys/kernel/debug/uroce/both/drop_ppm
	return $status
}

# not_torn has thousands of requests, and each loss costs a timeout.
atomic_writes_among_losses() {
	among_losses 30000 atomic_write arrives in_order && among_losses 5000 atomic_write not_torn
}

run_test "by packets: windows (adv23)" 300 by_packets windows bad_windows
run_test "by copying: partitions" 100 by_copying pkeys
# The sender is the same queue pair, and may be flushed before it learns of a receive ring that is wrong as a whole.
run_test "by packets: too many pieces of a receive request, and too little room for an atomic" 60 over_packets program ring_lies recv_pieces send_atomic
run_test "by packets: partitions" 100 by_packets pkeys
run_test "by packets: SQE" 100 states_by_packets
run_test "by packets: wrong keys and short receives are refused, and the first message raises an event" 100 over_packets refused
run_test "by packets: sends, reads, and a fenced send that waits for the read before it" 60 over_packets program api_rc rc_send rc_read rc_fence
run_test "by packets: a queue pair uses a privileged Q_Key of its own" 60 over_packets program api_ud ud_own_qkey
run_test "by packets: mistakes of the requester are explained" 60 over_packets own_mistakes
run_test "by packets: atomic writes (adv22)" 100 by_packets atomic_write
run_test "by packets, some of which are lost: atomic writes" 200 atomic_writes_among_losses
run_test "by packets: flushes" 100 by_packets flush
run_test "by packets, some of which are lost: flushes" 200 among_losses 30000 flush completes in_order granted_later
run_test "paths: nothing is left behind" 20 resources_unchanged
both_gone
