# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# uroce's packets between two namespaces, and the kernel's network stack: runs and single packets, ECN marks,
# connection tracking, queues. 72-uroce-wire.sh tests the messages themselves, and 73-ipsec.sh IPsec.
#
# needs: uroce
# runs in: networks test-kernel-networks

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

# shellcheck source=tests/user/network.sh
. "$UNIV_REPO/tests/user/network.sh"

need_far_and_near || exit 1

run_test "wire and kernel: two namespaces, ibv_rc_pingpong" 60 between ibv_rc_pingpong -g 1 -c -n "$(rounds 1000)"
run_test "wire and kernel: two namespaces, ib_write_bw" 60 between ib_write_bw -x 1 -F -s 65536 -n "$(rounds 200)"
# sent_in_how_many COMMAND...: sets $packets, and $units, the number of skbs that the network device was given.
sent_in_how_many() {
	local before tx
	before=$(hw_counter w-near sent_pkts) tx=$(cat /sys/class/net/w-near/statistics/tx_packets)
	between "$@" || return
	packets=$(($(hw_counter w-near sent_pkts) - before))
	units=$(($(cat /sys/class/net/w-near/statistics/tx_packets) - tx))
	echo "$packets packets in $units units"
}
# A machine that stalls has timeouts without a loss, and sends a thousand packets singly after each.
in_runs() { sent_in_how_many ib_write_bw -x 1 -F -s 1048576 -n 20 && [ $((packets * 10)) -gt $((units * 15)) ]; }
one_by_one() {
	local status
	ip link set w-near gso_max_segs 1 && ip -n w-far link set w-far gso_max_segs 1 || return
	sent_in_how_many ib_write_bw -x 1 -F -s 1048576 -n "$(rounds 25)" && [ "$packets" -le "$units" ]
	status=$?
	ip link set w-near gso_max_segs 65535 && ip -n w-far link set w-far gso_max_segs 65535 && return $status
}
# gro NAMESPACE NETDEV: enables GRO, as ethtool -K does (ETHTOOL_SGRO).
gro() {
	ip netns exec "$1" python3 -c "$(printf '%s\n' 'import array, fcntl, socket, struct, sys' \
		'value = array.array("I", [0x2c, 1])' \
		'request = struct.pack("16sP8x", sys.argv[1].encode(), value.buffer_info()[0])' \
		'fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0x8946, request)')" "$2"
}
# A veth leaves packets charged to their sender: the kernel log shows if too much is uncharged.
put_together() {
	gro w-near w-near && gro w-far w-far && one_by_one && between ib_send_bw -F -s 65536 -n "$(rounds 200)"
}
small_mtu() {
	local status
	ip link set w-near mtu 1500 && ip -n w-far link set w-far mtu 1500 || return
	between ib_read_bw -x 1 -F -s 100001 -n "$(rounds 25)" &&
		between ib_write_bw -x 1 -F -s 100001 -n "$(rounds 25)"
	status=$?
	ip link set w-near mtu 4200 && ip -n w-far link set w-far mtu 4200 && return $status
}
run_test "wire and kernel: packets travel in runs" 60 in_runs
run_test "wire and kernel: a device without super-packets" 60 one_by_one
run_test "wire and kernel: GRO combines packets that were sent singly" 120 put_together
run_test "wire and kernel: the MTU is changed" 60 small_mtu
# The network marks a packet instead of dropping it, and the sender gets a CNP.
congestion() {
	hw_counter w-far np_ecn_marked_roce_packets
	hw_counter w-far np_cnp_sent
	hw_counter w-near rp_cnp_handled
}
congested() {
	local before after marked told heard
	mapfile -t before < <(congestion)
	between ib_write_bw -x 1 -F -s 65536 -n 200 || return
	mapfile -t after < <(congestion)
	marked=$((after[0] - before[0])) told=$((after[1] - before[1])) heard=$((after[2] - before[2]))
	echo "$marked packets were marked, $told notifications sent and $heard heard of"
	[ $marked -gt 0 ] && [ $told -gt 0 ] && [ $told -le $marked ] && [ $heard -gt 0 ]
}
network loss 10% ecn
run_test "wire and kernel: a tenth of the packets is marked (ECN)" 60 congested
network
# Connection tracking confirms a connection at its second packet, also if it was loaded before the device was created.
tracked() {
	local status
	rdma link del w-far && ip netns exec w-far nft -f - <<-RULE || return 77
		table inet tracked {
			chain in {
				type filter hook input priority 0;
				udp dport 4791 ct status confirmed counter
			}
		}
	RULE
	ip netns exec w-far rdma link add w-far type uroce netdev w-far && wait_until 30 gid_ready w-far || return
	program lossy writes && ip netns exec w-far nft list table inet tracked | grep -E 'counter packets [1-9]'
	status=$?
	ip netns exec w-far nft delete table inet tracked && return $status
}
if modprobe -q nf_conntrack && modprobe -q nft_ct; then
	run_test "wire and kernel: connections are tracked" 60 tracked
	# Devices are listed by number, and the far device has a new number.
	resources_mark
else
	report ok "wire and kernel: connections are tracked" "# SKIP this kernel tracks none"
fi
# The link sends a kilobyte per second.
held_link() {
	local status hold='tc -n w-near qdisc replace dev w-near root tbf rate 8kbit burst 16kb limit 64mb'
	$hold 2>/dev/null || { echo "this kernel has no such queue (tbf)"; return 77; }
	tc -n w-near qdisc del dev w-near root
	DATAGRAMS_HOLD=$hold program datagrams full
	status=$?
	tc -n w-near -s qdisc show dev w-near
	tc -n w-near qdisc del dev w-near root && return $status
}
run_test "wire and kernel: datagrams leave while connections fill a slow link" 60 held_link

run_test "wire and kernel: nothing is left behind" 20 resources_unchanged
run_test "wire and kernel: both devices are removed" 20 far_gone
run_test "wire and kernel: the modules unload" 30 rmmod uroce
