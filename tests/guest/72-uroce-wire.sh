# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# uroce's packets: two devices in two namespaces, and a network between them.

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

# shellcheck disable=SC2119
load_univerbs || exit 1
UNIV_LINK=uroce load_link || exit 1

# shellcheck source=tests/user/network.sh
. "$UNIV_REPO/tests/user/network.sh"

far_and_near || { report "not ok" "two namespaces with a device each"; exit 1; }
export UNIV_TEST_DEVICE=w-near UNIV_TEST_PEER=w-far
resources_mark

# over NAME SECONDS NETWORK -- CASE...
over() {
	local name=$1 limit=$2 bad=()
	shift 2
	while [ "$1" != -- ]; do
		bad+=("$1")
		shift
	done
	shift
	network "${bad[@]}" || { report "not ok" "$name"; return; }
	run_test "uroce wire: $name" "$limit" program lossy "$@"
}

over "a good network" 120 -- sends writes reads atomics
over "tries are counted (adv19)" 120 -- counted_retries counted_rnr
run_test "uroce wire: two namespaces, ibv_rc_pingpong" 60 between ibv_rc_pingpong -g 1 -c -n "$(rounds 1000)"
run_test "uroce wire: two namespaces, ib_write_bw" 60 between ib_write_bw -x 1 -F -s 65536 -n "$(rounds 200)"
# counter NAMESPACE NAME: of the device there, which has the same name
counter() {
	ip netns exec "$1" rdma statistic show link "$1/1" | tr ' ' '\n' | grep -x -A 1 "$2" | tail -n 1
}
# sent_in_how_many COMMAND...: sets $packets, and $units: what the network device was given
sent_in_how_many() {
	local before tx
	# what is shown is read so seldom
	sleep 0.1
	before=$(counter w-near sent_pkts) tx=$(cat /sys/class/net/w-near/statistics/tx_packets)
	between "$@" || return
	sleep 0.1
	packets=$(($(counter w-near sent_pkts) - before))
	units=$(($(cat /sys/class/net/w-near/statistics/tx_packets) - tx))
	echo "$packets packets in $units units"
}
# A slow kernel takes some packets for lost, and sends a thousand singly after each
in_runs() {
	local least=40
	[ -z "${UNIV_SLOW:-}" ] || least=15
	sent_in_how_many ib_write_bw -x 1 -F -s 1048576 -n 20 && [ $((packets * 10)) -gt $((units * least)) ]
}
one_by_one() {
	local status
	ip link set w-near gso_max_segs 1 && ip -n w-far link set w-far gso_max_segs 1 || return
	sent_in_how_many ib_write_bw -x 1 -F -s 1048576 -n "$(rounds 25)" && [ "$packets" -le "$units" ]
	status=$?
	ip link set w-near gso_max_segs 65535 && ip -n w-far link set w-far gso_max_segs 65535 && return $status
}
# gro NAMESPACE NETDEV: have it put packets together, as ethtool -K does (ETHTOOL_SGRO)
gro() {
	ip netns exec "$1" python3 -c "$(printf '%s\n' 'import array, fcntl, socket, struct, sys' \
		'value = array.array("I", [0x2c, 1])' \
		'request = struct.pack("16sP8x", sys.argv[1].encode(), value.buffer_info()[0])' \
		'fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0x8946, request)')" "$2"
}
# A veth leaves packets charged to their sender: the kernel's log tells if too much is taken off its account
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
packet_socket() { [ "$(wc -l </proc/net/packet)" -gt 1 ]; }
# Somebody gets a copy of each
watched() {
	local watcher status
	python3 -c "$(printf '%s\n' 'import socket' 's = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))' \
		'while True: s.recv(65536)')" &
	watcher=$!
	wait_until 20 packet_socket || return
	program lossy sends writes reads
	status=$?
	kill $watcher
	return $status
}
# Always more than a packet of 1024 bytes needs
other_mtus() {
	local mtu
	for mtu in 1200 9000 1500 4200; do
		ip link set w-near mtu $mtu && ip -n w-far link set w-far mtu $mtu || return
		pause 0.03
	done
}
no_offloads() {
	local how
	for how in off on; do
		ethtool -K w-near gso $how tso $how && ip netns exec w-far ethtool -K w-far gro $how gso $how tso $how &&
			ethtool -K w-near gro $how || return
		pause 0.03
	done
}
# while_changing WHAT CASE...: every byte of the traffic is looked at, and WHAT happens over and over
while_changing() {
	local what=$1 traffic changes=0
	shift
	LOSSY_MESSAGES=1500 program lossy "$@" &
	traffic=$!
	until group_leader_gone $traffic; do
		$what || { kill $traffic; return 1; }
		changes=$((changes + 1))
	done
	echo "$changes times"
	# The last time may have had little of it; on a slow kernel one takes nearly as long as the traffic
	wait $traffic && [ $changes -gt $((${UNIV_SLOW:-1} > 1 ? 0 : 1)) ]
}
run_test "uroce wire: packets travel in runs" 60 in_runs
run_test "uroce wire: a device that takes no super-packets" 60 one_by_one
run_test "uroce wire: packets that go singly come together" 120 put_together
run_test "uroce wire: another MTU" 60 small_mtu
run_test "uroce wire: the MTU changes under traffic (adv26)" 200 while_changing other_mtus sends writes reads atomics
run_test "uroce wire: offloads change under traffic (adv26)" 200 while_changing no_offloads sends writes reads atomics
run_test "uroce wire: a good network, and somebody looks on" 120 watched
over "a tenth is lost" 200 loss 10% -- sends writes reads atomics
over "a tenth comes twice" 200 duplicate 10% -- sends writes reads atomics
over "a tenth overtakes" 200 delay 1ms reorder 90% 50% -- sends writes reads atomics
over "a tenth is damaged" 200 corrupt 10% -- sends writes reads atomics
# Instead of dropping a packet the network marks it, and whoever sent it hears of that
congestion() {
	counter w-far np_ecn_marked_roce_packets
	counter w-far np_cnp_sent
	counter w-near rp_cnp_handled
}
congested() {
	local before after marked told heard
	mapfile -t before < <(congestion)
	between ib_write_bw -x 1 -F -s 65536 -n "$(rounds 200)" || return
	# what is shown is read so seldom
	sleep 0.1
	mapfile -t after < <(congestion)
	marked=$((after[0] - before[0])) told=$((after[1] - before[1])) heard=$((after[2] - before[2]))
	echo "$marked packets were marked, $told notifications sent and $heard heard of"
	[ $marked -gt 0 ] && [ $told -gt 0 ] && [ $told -le $marked ] && [ $heard -gt 0 ]
}
network loss 10% ecn
run_test "uroce wire: a tenth is marked (ECN)" 60 congested
network
run_test "uroce wire: packets (adv21)" 300 program packets
run_test "uroce wire: packets, XRC (adv21)" 300 program packets_xrc
over "a send queue is drained (SQD)" 100 delay 20ms -- drains
over "destroyed while half is lost (adv20)" 150 loss 50% -- destroyed
network

run_test "uroce wire: nothing is left behind" 20 resources_unchanged
run_test "uroce wire: both devices go" 20 far_gone
run_test "uroce wire: unloaded" 30 rmmod uroce
