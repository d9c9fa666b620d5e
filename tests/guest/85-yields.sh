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
far_and_near || { fails "two namespaces with a device each"; exit 1; }

gives_way() {
	[ -n "$(ss -Hlun 'sport = :4791')" ] || { echo "nobody has the port"; return 1; }
	modprobe rdma_rxe && between ib_write_bw -x 1 -F -s 65536 -n 20
}

# x_link: another network, with rdma_rxe at one end
x_link() {
	ip link add x-near mtu 1500 type veth peer name x-far mtu 1500 netns w-far && ip addr add 10.90.0.1/24 dev x-near &&
		ip link set x-near up && rdma link add x-near type rxe netdev x-near && ip -n w-far addr add 10.90.0.2/24 dev x-far &&
		ip -n w-far link set x-far up && ip netns exec w-far rdma link add x-far type uroce netdev x-far &&
		wait_until 30 gid_ready x-near && wait_until 30 gid_ready x-far
}

# rdma_rxe takes no packets of uroce's that stand for several: the kernel has to cut them. perftest's own timeout is short for
# a processor that is emulated and may be stopped.
beside_rxe() {
	local tool server status limit=$((50 * ${UNIV_SLOW:-1}))
	[ -e /sys/class/infiniband/x-far ] || x_link || return
	for tool in ib_write_bw ib_read_bw ib_send_bw; do
		univ timeout "$limit" ip netns exec w-far $tool -x 1 -F -u 20 -s 262144 -n 20 -d x-far >/dev/null &
		server=$!
		wait_until 20 far_listens && univ timeout "$limit" $tool -x 1 -F -u 20 -s 262144 -n 20 -d x-near 10.90.0.2
		status=$?
		wait $server && [ $status -eq 0 ] || { echo "$tool"; return 1; }
	done
	rdma link del x-near && ip link del x-near && wait_until 30 test ! -e /sys/class/infiniband/x-far
}

run_test "uroce leaves the UDP port to rdma_rxe" 60 gives_way
run_test "long messages of uroce reach rdma_rxe" 200 beside_rxe
run_test "rdma_rxe is unloaded" 20 rmmod rdma_rxe
run_test "both devices are removed" 20 far_gone
