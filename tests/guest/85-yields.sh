# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# uroce has a socket on RoCE's UDP port, which rdma_rxe needs to load, so uroce gives up the port when rdma_rxe loads.
#
# needs: uroce no-rxe-before
# runs in: guest-uroce scripts-uroce

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"
# shellcheck source=tests/user/network.sh
. "$UNIV_REPO/tests/user/network.sh"

[ ! -e /sys/module/rdma_rxe ] || skip "rdma_rxe was here before; the stage guest-uroce runs this"

# shellcheck disable=SC2119
load_univerbs || exit 1
UNIV_LINK=uroce load_link || exit 1
far_and_near || { report "not ok" "two namespaces with a device each"; exit 1; }

gives_way() {
	[ -n "$(ss -Hlun 'sport = :4791')" ] || { echo "nobody has the port"; return 1; }
	modprobe rdma_rxe && between ib_write_bw -x 1 -F -s 65536 -n 20
}

run_test "uroce leaves the UDP port to rdma_rxe" 60 gives_way
run_test "rdma_rxe is unloaded" 20 rmmod rdma_rxe
run_test "both devices are removed" 20 far_gone
