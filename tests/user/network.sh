# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For scripts that run in a guest: two uroce devices in two namespaces, and between them a network as good or as bad as a
# test wants it. tests/user/guest.sh comes first.

# still NAMESPACE NETDEV: is called before the net device is set up. Its host sends frames by itself only at once then: it
# solicits no routers, checks no addresses and probes no neighbours later, since such frames would reach flows of all frames.
still() {
	ip netns exec "$1" bash -c "cd /proc/sys/net && echo 0 >ipv6/conf/$2/router_solicitations &&
		echo 0 >ipv6/conf/$2/accept_dad && echo 1 >ipv6/conf/$2/mldv2_unsolicited_report_interval &&
		echo 3600 >ipv4/neigh/$2/delay_first_probe_time && echo 3600 >ipv6/neigh/$2/delay_first_probe_time"
}

# card NAMESPACE NETDEV N: an uroce device on it, at 10.89.0.N
card() {
	ip -n "$1" addr add "10.89.0.$3/24" dev "$2" &&
		ip -n "$1" -6 addr add "fd89::$3/64" dev "$2" nodad &&
		still "$1" "$2" && ip -n "$1" link set "$2" up &&
		ip netns exec "$1" rdma link add "$2" type uroce netdev "$2"
}

# far_and_near: devices w-near here and w-far in a namespace of that name
far_and_near() {
	ip netns add w-far && ip netns attach w-near 1 &&
		ip link add w-near mtu 4200 type veth peer name w-far mtu 4200 netns w-far &&
		card w-near w-near 1 && card w-far w-far 2 &&
		wait_until 30 gid_ready w-near && wait_until 30 gid_ready w-far && wait_until 20 resolved 10.89.0.2
}

# need_far_and_near: modules and both devices, which programs of tests/user find
# shellcheck disable=SC2119
need_far_and_near() {
	load_univerbs && UNIV_LINK=uroce load_link || return
	far_and_near || { fails "two namespaces with a device each"; return 1; }
	export UNIV_TEST_DEVICE=w-near UNIV_TEST_PEER=w-far
	resources_mark
}

# second_addresses: both devices have 10.89.1.N as well
second_addresses() {
	ip -n w-near addr add 10.89.1.1/24 dev w-near && ip -n w-far addr add 10.89.1.2/24 dev w-far &&
		wait_until 20 resolved 10.89.1.2
}

# migrate PROGRAM...: runs it, with commands that make the first address of a peer unreachable. A neighbour with a wrong
# MAC address gets no packets.
migrate() {
	local nowhere="lladdr 02:00:00:00:0b:ad nud permanent" status
	MIGRATION_CUT="ip -n w-near neigh replace 10.89.0.2 dev w-near $nowhere" \
		MIGRATION_DEAF="ip -n w-far neigh replace 10.89.0.1 dev w-far $nowhere" \
		MIGRATION_HEAL="ip -n w-near neigh flush dev w-near nud permanent; ip -n w-far neigh flush dev w-far nud permanent" \
		program "$@"
	status=$?
	ip -n w-near neigh flush dev w-near nud permanent
	ip -n w-far neigh flush dev w-far nud permanent
	return $status
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

# network WHAT...: netem applies it to RoCE packets of both directions only, over IPv4 and IPv6; without arguments the network
# has no faults. "delay 1ms reorder 75%" delays a quarter of the packets, and the others overtake them.
network() {
	local ns port=${roce_port:-4791}
	for ns in w-near w-far; do
		tc -n $ns qdisc del dev $ns root 2>/dev/null
		[ $# -gt 0 ] || continue
		tc -n $ns qdisc add dev $ns root handle 1: prio bands 3 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 &&
			tc -n $ns qdisc add dev $ns parent 1:3 netem "$@" &&
			tc -n $ns filter add dev $ns parent 1: protocol ip u32 match ip dport "$port" 0xffff flowid 1:3 &&
			tc -n $ns filter add dev $ns parent 1: protocol ipv6 u32 match ip6 dport "$port" 0xffff flowid 1:3 || return
	done
}

# netem_had: prints the number of packets that netem has got in both namespaces since the last call of network(), and how many it dropped
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
	network "${bad[@]}" || { fails "$name"; return; }
	if [ ${#bad[@]} -eq 0 ]; then
		run_test "$name" "$limit" program lossy "$@"
	else
		run_test "$name" "$limit" faulty_network "${bad[*]}" "$@"
	fi
}

# noticed KIND: the sum of the counters of both devices that packets of this kind raise. A loss is noticed by the next
# packet, if there is one.
noticed() {
	local sum=0 name names=()
	case $1 in
	loss) names=(ack_timeout out_of_seq_request duplicate_request) ;;
	duplicate) names=(duplicate_request) ;;
	reorder) names=(out_of_seq_request) ;;
	corrupt) names=(rcvd_icrc_err) ;;
	esac
	for name in "${names[@]}"; do
		sum=$((sum + $(hw_counter w-near "$name") + $(hw_counter w-far "$name")))
	done
	echo $sum
}

# faulty_network NETWORK CASE...: runs the cases. A network without an effect proves nothing, so netem must have had
# packets, and the counters of the devices must show each kind of fault. Queue pairs that are destroyed do not wait for a
# response, so they notice no loss.
faulty_network() {
	local had dropped kind now
	local -A before=()
	for kind in $1; do
		[[ $kind = @(loss|duplicate|reorder|corrupt) ]] && [ "${*:2}" != destroyed ] && before[$kind]=$(noticed "$kind")
	done
	program lossy "${@:2}" || return
	read -r had dropped < <(netem_had)
	echo "netem: $had packets, $dropped dropped"
	[ "$had" -gt 0 ] || return
	[[ " $1 " != *" loss "* ]] || [ "$dropped" -gt 0 ] || return
	for kind in "${!before[@]}"; do
		now=$(noticed "$kind")
		echo "$kind: ${before[$kind]} noticed before, $now now"
		[ "$now" -gt "${before[$kind]}" ] || return
	done
}

packet_socket() { [ "$(wc -l </proc/net/packet)" -gt 1 ]; }

# watched COMMAND...: runs it while a packet socket gets a copy of each packet
watched() {
	local watcher status
	python3 -c "$(printf '%s\n' 'import socket' 's = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))' \
		'while True: s.recv(65536)')" &
	watcher=$!
	wait_until 20 packet_socket || return
	"$@"
	status=$?
	kill $watcher
	return $status
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

# The rate of a slow link, the waiting time from which its router marks packets, and the packets that fit into the router's
# queue, which a sender that ignores the marks fills up
link_kbps=10000 link_marked_from=20ms link_queue=250

# slow_port NETDEV: makes it a port of the router in w-link, with a slow link behind the queue
slow_port() {
	ip -n w-link link set "$1" master router up &&
		tc -n w-link qdisc add dev "$1" root handle 1: tbf rate ${link_kbps}kbit burst 10000 limit 1000000 &&
		tc -n w-link qdisc add dev "$1" parent 1:1 handle 2: \
			codel limit $link_queue target 1s ce_threshold $link_marked_from ecn
}

# segmentation on|off: off: w-near and w-far send each packet by itself, as a network card does. A run would be one packet in
# a router's queue, and be marked only if it waited too long as a whole.
segmentation() {
	ip netns exec w-near ethtool -K w-near tx-udp-segmentation "$1" &&
		ip netns exec w-far ethtool -K w-far tx-udp-segmentation "$1"
}

# far_behind_slow_link: devices w-near here and w-far in a namespace of that name, and the router in a third one
far_behind_slow_link() {
	modprobe -qa bridge sch_tbf sch_codel || { echo "this kernel lacks bridge, sch_tbf or sch_codel"; return 77; }
	ip netns add w-far && ip netns add w-link && ip netns attach w-near 1 &&
		ip link add w-near mtu 4200 type veth peer name near mtu 4200 netns w-link &&
		ip -n w-far link add w-far mtu 4200 type veth peer name far mtu 4200 netns w-link &&
		ip -n w-link link add router type bridge && ip -n w-link link set router up &&
		slow_port near && slow_port far && segmentation off &&
		card w-near w-near 1 && card w-far w-far 2 &&
		wait_until 30 gid_ready w-near && wait_until 30 gid_ready w-far && wait_until 20 resolved 10.89.0.2 || return 1
	export UNIV_TEST_DEVICE=w-near UNIV_TEST_PEER=w-far
}

# slow_link_gone: both devices, the router and the namespaces
slow_link_gone() { far_gone && ip netns del w-link; }

# link_had: the packets that the queue to w-far has dropped and marked so far
link_had() {
	tc -n w-link -s qdisc show dev far | awk '/codel/ { codel = 1 }
		codel && /dropped/ { sub(/.*dropped /, ""); dropped = $1 + 0 }
		codel && /ce_mark/ { sub(/.*ce_mark /, ""); marked = $1 + 0 }
		END { print dropped + 0, marked + 0 }'
}

# share_link CASE: two connections share the link. Prints what each got, and the packets that the queue dropped and marked.
# None is dropped, since the senders slow down in time, except those of UC before the first notifications.
share_link() {
	local before after status
	read -ra before < <(link_had)
	program shares "$1"
	status=$?
	read -ra after < <(link_had)
	echo "$((after[0] - before[0])) packets were dropped, $((after[1] - before[1])) were marked"
	[ $status -eq 0 ] && [ "${after[1]}" -gt "${before[1]}" ] &&
		{ [ "$1" = unreliable_sends ] || [ "${after[0]}" -eq "${before[0]}" ]; }
}

# while_changing WHAT CASE...: checks every byte of the traffic while WHAT runs again and again. On a slow machine one
# run of WHAT takes nearly as long as the traffic, which is repeated then.
while_changing() {
	local what=$1 traffic changes=0 again=-1
	shift
	while [ $changes -lt 3 ]; do
		again=$((again + 1))
		LOSSY_MESSAGES=1500 program lossy "$@" &
		traffic=$!
		until group_leader_gone $traffic; do
			$what || { kill $traffic; return 1; }
			changes=$((changes + 1))
		done
		wait $traffic || return
	done
	repeated $again "too few changes came in between"
}

# both_mtus MTU: a command that sets the MTU of both net devices
both_mtus() { echo "ip link set w-near mtu $1 && ip -n w-far link set w-far mtu $1"; }

# with_mtu_1500 COMMAND...: on net devices of the MTU that nearly every network has
with_mtu_1500() {
	local status
	bash -c "$(both_mtus 1500)" && "$@"
	status=$?
	bash -c "$(both_mtus 4200)" && return $status
}
