# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Packets that uroce should not get: forged ones and wrong ones. Two devices are in two namespaces. 72-packets-more.sh has XRC,
# path migration, and each packet twice.
#
# needs: uroce
# runs in: quick test-kernel-uroce coverage-uroce test-kernel-networks

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

# shellcheck source=tests/user/network.sh
. "$UNIV_REPO/tests/user/network.sh"

need_far_and_near || exit 1

run_test "uroce packets: RC (adv21)" 300 program packets
run_test "uroce packets: gaps (adv21)" 100 program packets_gaps
run_test "uroce packets: UD (adv21)" 150 program packets_ud
# The delay is longer than the test takes to notice that a read has begun, so most of the read is still to be sent.
network delay 300ms
run_test "uroce packets: in the error state no response is sent" 60 program packets open read_ends close
network

run_test "uroce packets: nothing is left behind" 20 resources_unchanged
run_test "uroce packets: both devices are removed" 20 far_gone
run_test "uroce packets: the modules unload" 30 rmmod uroce
