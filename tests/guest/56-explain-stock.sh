# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# univerbs-explain over the stock library and rdma_rxe, without a module of univerbs. The test programs of the library's
# own explanations make their mistakes here too, as far as a library in front of the stock library can see them.
#
# needs: modules
# runs in: coverage-library

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

TEST_STACK=stock
explain=$UNIV_LIBDIR/univerbs-explain
err=$UNIV_STATE/explain-stock.err

use_link rxe && setup_device rxe0 || exit 1

# mistakes PROGRAM CASE...: runs cases that check the lines themselves.
mistakes() {
	local program=$1
	shift
	"$explain" "$TEST_BIN/$program" "$@"
}

# explained PROGRAM CASE WORD...: one line has all the words.
explained() {
	local program=$1 case=$2 word
	shift 2
	"$explain" "$TEST_BIN/$program" "$case" 2>"$err" >/dev/null
	cp "$err" "$err.all"
	for word; do
		grep -i -- "$word" "$err" >"$err.1" || { echo "no line says $word:"; head -n 8 "$err.all"; return 1; }
		mv "$err.1" "$err"
	done
}

# without_mistakes COMMAND...: COMMAND works, and the library in front of it prints nothing.
without_mistakes() {
	"$explain" "$@" >"$err.out" 2>"$err" || { cat "$err.out" "$err"; return 1; }
	! grep '^univerbs: ' "$err"
}

pingpong() {
	local server
	without_mistakes ibv_rc_pingpong -d rxe0 -g 1 &
	server=$!
	wait_until 20 tcp_listens 18515 && ibv_rc_pingpong -d rxe0 -g 1 10.77.0.1 >/dev/null && wait $server
}

# With univerbs' own library, each failure has one line, which that library prints. The case makes the same failures in each
# run. Cases that leave SQD do not: rdma_rxe refuses that until its send queue has drained, and the program tries again.
stands_aside() {
	load_univerbs && TEST_STACK=univerbs LD_PRELOAD=$("$explain" --library) UNIVERBS_EXPLAIN=1 \
		program bad_modify bad_values 2>"$err" >/dev/null &&
		UNIVERBS_EXPLAIN=1 TEST_STACK=univerbs program bad_modify bad_values 2>"$err.alone" >/dev/null || return
	grep -q '^univerbs: ' "$err" && diff <(grep '^univerbs: ' "$err.alone") <(grep '^univerbs: ' "$err")
}

no_module() { ! univerbs_loaded || { echo "the module is loaded"; return 1; }; }

unload_univerbs
run_test "explain-stock: univerbs is not loaded" 10 no_module
run_test "explain-stock: a missing attribute" 60 explained bad_modify rc_masks ibv_modify_qp "INIT.*RTR" PATH_MTU
run_test "explain-stock: an invalid state transition" 60 explained bad_modify rc_states ibv_modify_qp "RESET" "RTS"
run_test "explain-stock: a wrong value" 60 explained bad_modify bad_values ibv_modify_qp MAX_QP_RD_ATOMIC 255
run_test "explain-stock: a failed completion is explained with its peer" 60 explained bad_requests nobody_there "retries\|retry" "10\.77\."
for case in node_without_permission memlock_exceeded limit_exceeded srq_limit_exceeded remote_write_without_local_write \
		iova_at_another_offset extended_limit_exceeded busy_object wrong_attributes av_of_another_port \
		no_grh_gid_or_port another_size driver_refuses; do
	run_test "explain-stock: $case" 60 mistakes mistakes_calls $case
done
for case in too_many_sges inline_data_too_long send_queue_full receive_queue_misused post_in_wrong_state \
		receive_beside_shared_queue shared_queue_misused flushed flushed_among_many no_peer; do
	run_test "explain-stock: $case" 60 mistakes mistakes_work $case
done
run_test "explain-stock: a device that is opened twice" 60 mistakes mistakes_work too_many_sges flushed
run_test "explain-stock: a program without mistakes" 60 without_mistakes "$TEST_BIN/tutorial"
run_test "explain-stock: a pingpong" 60 pingpong
run_test "explain-stock: with univerbs, only univerbs explains" 60 stands_aside
