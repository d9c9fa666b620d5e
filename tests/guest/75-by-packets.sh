# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Programs that 70-uroce.sh runs by copying, once more by packets.
#
# needs: uroce
# runs in: networks coverage-uroce coverage-library test-kernel-networks

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

# shellcheck source=tests/user/packets.sh
. "$UNIV_REPO/tests/user/packets.sh"

need_both || exit 1

run_test "by packets: XRC (adv13)" 500 by_packets xrc xrc_ops bad_xrc
run_test "by packets: resized shared receive queues" 200 by_packets srq_resize
run_test "by packets: resized queue pairs" 200 by_packets qp_resize
run_test "by packets: datagrams" 150 by_packets api_ud
run_test "by packets: completion counters" 100 by_packets api_cntr
run_test "by packets: time stamps" 150 by_packets api_cq_ex
run_test "by packets: on-demand paging" 500 by_packets odp odp_advice odp_traffic
run_test "by packets: extended and shared regions (adv14)" 300 by_packets extend share
run_test "by packets: modified address handles" 100 by_packets modify_ah
run_test "by packets: nothing is left behind" 20 resources_unchanged
both_gone
