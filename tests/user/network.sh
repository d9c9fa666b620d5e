# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For scripts that run in a guest: two uroce devices in two namespaces, and between them a network as good or as bad as a
# test wants it. tests/user/guest.sh comes first.

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
		wait_until 5 gid_ready w-near && wait_until 5 gid_ready w-far && wait_until 20 resolved 10.89.0.2
}

# need_far_and_near: modules and both devices, which programs of tests/user find
# shellcheck disable=SC2119
need_far_and_near() {
	load_univerbs && UNIV_LINK=uroce load_link || return
	far_and_near || { report "not ok" "two namespaces with a device each"; return 1; }
	export UNIV_TEST_DEVICE=w-near UNIV_TEST_PEER=w-far
	resources_mark
}

# resolved ADDRESS: w-near knows the neighbour; else it is asked for. A link that came up a moment ago drops packets.
resolved() {
	ip -n w-near neigh show "$1" | grep -Eq 'REACHABLE|STALE|DELAY|PROBE' && return
	ip netns exec w-near bash -c "echo >/dev/udp/$1/9"
	return 1
}

# far_gone: both devices and the namespace
far_gone() {
	rdma link del w-near && ip link del w-near && ip netns del w-near && ip netns del w-far
}

# network WHAT...: netem applies it to RoCE packets of both directions only; without arguments the network has no faults
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

# netem_had: prints the number of packets that netem has got in both namespaces since network, and how many it dropped
netem_had() {
	local ns
	for ns in w-near w-far; do
		tc -n $ns -s qdisc show dev $ns
	done | awk '/netem/ { getline; gsub(/[^0-9 ]/, " "); had += $2; dropped += $3 } END { print had + 0, dropped + 0 }'
}

# over NAME SECONDS NETWORK -- CASE...: runs the cases over NETWORK, as the test NAME.
over() {
	local name=$1 limit=$2 bad=()
	shift 2
	while [ "$1" != -- ]; do
		bad+=("$1")
		shift
	done
	shift
	network "${bad[@]}" || { report "not ok" "$name"; return; }
	if [ ${#bad[@]} -eq 0 ]; then
		run_test "$name" "$limit" program lossy "$@"
	else
		run_test "$name" "$limit" faulty_network "${bad[0]}" "$@"
	fi
}

# A bad network without an effect proves nothing: check that netem had packets, and that the devices' counters show its
# effect.
faulty_network() {
	local kind=$1 noticed=() before had dropped
	case $kind in
	# Queue pairs that are destroyed do not wait for a response. A loss is detected by the next packet, if there is
	# one.
	loss) [ "$*" = "loss destroyed" ] || noticed=(ack_timeout out_of_seq_request duplicate_request) ;;
	duplicate) noticed=(duplicate_request) ;;
	delay) ;;
	corrupt) noticed=(rcvd_icrc_err) ;;
	*) echo "nobody knows what $kind is noticed by"; return 1 ;;
	esac
	shift
	before=$(noticed_by_both)
	program lossy "$@" || return
	read -r had dropped < <(netem_had)
	echo "netem: $had packets, $dropped dropped; ${noticed[*]}: $before before, $(noticed_by_both) now"
	[ $had -gt 0 ] || return
	[ "$kind" != loss ] || [ $dropped -gt 0 ] || return
	[ ${#noticed[@]} -eq 0 ] || [ "$(noticed_by_both)" -gt "$before" ]
}

noticed_by_both() {
	local sum=0 name
	for name in ${noticed[@]+"${noticed[@]}"}; do
		sum=$((sum + $(hw_counter w-near "$name") + $(hw_counter w-far "$name")))
	done
	echo $sum
}

# between COMMAND...: a server in the other namespace, and its client here
between() {
	local server status limit=$((50 * ${UNIV_SLOW:-1}))
	univ timeout "$limit" ip netns exec w-far "$@" -d w-far >"$UNIV_STATE/server.out" 2>&1 &
	server=$!
	wait_until 20 far_listens || { cat "$UNIV_STATE/server.out"; return 1; }
	univ timeout "$limit" "$@" -d w-near 10.89.0.2
	status=$?
	wait $server || { status=1; cat "$UNIV_STATE/server.out"; }
	return $status
}

far_listens() { [ -n "$(ip netns exec w-far ss -Hltn 'sport = :18515')" ]; }
