# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Hostile processes that attack the kernel or other processes.
#
# needs: device
# runs in: test-kernel-rxe test-kernel-uroce coverage-core coverage-library kernels-arm64 rt-kernel
# runs in: test-kernel-memory-uroce

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

need_univerbs || exit 1
resources_mark

user_test dmakey 240
user_test cq_overrun 100
user_test ring_lies 60
run_test "ringabuse (adv03 adv04)" 120 hostile ringabuse
run_test "a fresh process works after ringabuse" 20 still_works

user_test flood 100

run_test "nothing is left behind" 20 resources_unchanged
