# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Concurrent threads and processes, and processes that are killed.
#
# needs: device
# runs in: test-kernel-rxe test-kernel-uroce coverage-core coverage-library kernels-arm64 rt-kernel
# runs in: test-kernel-memory-uroce

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

need_univerbs || exit 1
resources_mark

# together N COMMAND...: runs COMMAND N times at once; all must succeed.
together() {
	local n=$1 i pids=() failed=0
	shift
	for ((i = 0; i < n; i++)); do
		"$@" >"$UNIV_STATE/together.$i" 2>&1 &
		pids+=($!)
	done
	for ((i = 0; i < n; i++)); do
		wait "${pids[i]}" || { failed=1; cat "$UNIV_STATE/together.$i"; }
	done
	return $failed
}

user_test threads 120
user_test forked 60
messages() { program api_rc rc_send rc_chain && program api_ud ud_message; }
run_test "eight processes at once" 90 together 8 messages
user_test many 200
user_test races 90
user_test half_made 100
user_test killed 150
user_test signals 120
run_test "a fresh process works afterwards" 20 still_works

run_test "nothing is left behind" 20 resources_unchanged
