# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Correct uses of every verb.
#
# needs: device
# runs in: quick guest coverage-core coverage-library coverage-library-uroce kernels kernels-arm64 kernels-spared rt-kernel
# runs in: test-kernel-memory

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

need_univerbs || exit 1
resources_mark

user_test tutorial 30
user_test api_device 120
user_test api_list 120
user_test no_netlink 120
user_test api_channel 200
user_test api_cq 200
user_test api_cq_ex 120
user_test one_cpu 60
user_test api_qp 200
user_test api_qp_ex 120
user_test api_rc 300
user_test api_ud 120
user_test api_srq 120
user_test srq_resize 60
user_test qp_resize 60
user_test rings_shared 200
user_test api_event 120
user_test api_rereg 60
user_test atomic_write 100
user_test flush 100
user_test odd_memory 120
user_test api_newer 100
user_test dma_handles 100
user_test domains 150
user_test import 120
user_test memory 200
user_test api_cntr 150

run_test "nothing is left behind" 20 resources_unchanged
