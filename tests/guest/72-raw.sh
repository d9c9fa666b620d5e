# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Raw packet queue pairs and flows of uroce. Two devices are on both ends of a veth, in two namespaces, so that packet sockets
# see what queue pairs send.
#
# needs: uroce
# runs in: guest coverage-uroce coverage-library test-kernel-networks

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

# shellcheck source=tests/user/network.sh
. "$UNIV_REPO/tests/user/network.sh"

need_far_and_near || exit 1

user_test raw 100
user_test raw_headers 200
user_test raw_tunnels 200
user_test flow_counters 100
user_test raw_egress 100
user_test tso 300
user_test bad_tso 300
user_test bad_flows 100

run_test "uroce raw packets: nothing is left behind" 20 resources_unchanged
run_test "uroce raw packets: both devices are removed" 20 far_gone
run_test "uroce raw packets: the modules unload" 30 rmmod uroce
