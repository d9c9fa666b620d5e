# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# uroce's packets: two devices in two namespaces, and between them a network as good or as bad as each test wants it.

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

# shellcheck disable=SC2119
load_univerbs || exit 1
UNIV_LINK=uroce load_link || exit 1

# card NAMESPACE NETDEV N: an uroce device on it, at 10.89.0.N
card() {
	ip -n "$1" addr add "10.89.0.$3/24" dev "$2" &&
		ip -n "$1" -6 addr add "fd89::$3/64" dev "$2" nodad &&
		ip -n "$1" link set "$2" up &&
		ip netns exec "$1" rdma link add "$2" type uroce netdev "$2"
}

# far_and_near: devices w-near here and w-far in a namespace of that name
far_and_near() {
	ip netns add w-far && ip netns attach w-near 1 &&
		ip link add w-near mtu 4200 type veth peer name w-far mtu 4200 netns w-far &&
		card w-near w-near 1 && card w-far w-far 2 &&
		wait_until 5 gid_ready w-near && wait_until 5 gid_ready w-far
}

far_and_near || { report "not ok" "two namespaces with a device each"; exit 1; }
export UNIV_TEST_DEVICE=w-near UNIV_TEST_PEER=w-far
resources_mark

# network WHAT...: netem does it to both directions' RoCE, and to nothing else; without arguments the network is good
network() {
	local ns
	for ns in w-near w-far; do
		tc -n $ns qdisc del dev $ns root 2>/dev/null
		[ $# -gt 0 ] || continue
		tc -n $ns qdisc add dev $ns root handle 1: prio bands 3 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 &&
			tc -n $ns qdisc add dev $ns parent 1:3 netem "$@" &&
			tc -n $ns filter add dev $ns parent 1: protocol ip u32 match ip dport 4791 0xffff flowid 1:3 || return
	done
}

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

# between COMMAND...: a server in the other namespace, and its client here
between() {
	local server status
	univ timeout 50 ip netns exec w-far "$@" -d w-far >"$UNIV_STATE/server.out" 2>&1 &
	server=$!
	wait_until 20 far_listens || { cat "$UNIV_STATE/server.out"; return 1; }
	univ timeout 50 "$@" -d w-near 10.89.0.2
	status=$?
	wait $server || { status=1; cat "$UNIV_STATE/server.out"; }
	return $status
}

far_listens() { [ -n "$(ip netns exec w-far ss -Hltn 'sport = :18515')" ]; }

over "a good network" 120 -- sends writes reads atomics
over "tries are counted (adv19)" 120 -- counted_retries counted_rnr
run_test "uroce wire: two namespaces, ibv_rc_pingpong" 60 between ibv_rc_pingpong -g 1 -c
run_test "uroce wire: two namespaces, ib_write_bw" 60 between ib_write_bw -x 1 -F -s 65536 -n 200
over "a tenth is lost" 200 loss 10% -- sends writes reads atomics
over "a tenth comes twice" 200 duplicate 10% -- sends writes reads atomics
over "a tenth overtakes" 200 delay 1ms reorder 90% 50% -- sends writes reads atomics
over "a tenth is damaged" 200 corrupt 10% -- sends writes reads atomics
# Instead of dropping a packet the network marks it, and whoever sent it hears of that
# counter NAMESPACE NAME: of the device there, which has the same name
counter() {
	ip netns exec "$1" rdma statistic show link "$1/1" | tr ' ' '\n' | grep -x -A 1 "$2" | tail -n 1
}
congestion() {
	counter w-far np_ecn_marked_roce_packets
	counter w-far np_cnp_sent
	counter w-near rp_cnp_handled
}
congested() {
	local before after marked told heard
	mapfile -t before < <(congestion)
	between ib_write_bw -x 1 -F -s 65536 -n 200 || return
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
over "destroyed while half is lost (adv20)" 150 loss 50% -- destroyed
network

run_test "uroce wire: nothing is left behind" 20 resources_unchanged
rdma link del w-near
ip link del w-near
ip netns del w-near
ip netns del w-far
run_test "uroce wire: unloaded" 30 rmmod uroce
