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
	if [ ${#bad[@]} -eq 0 ]; then
		run_test "uroce wire: $name" "$limit" program lossy "$@"
	else
		run_test "uroce wire: $name" "$limit" bad_network "${bad[0]}" "$@"
	fi
}

# netem_had NAMESPACE: packets that went through netem there, and those that it dropped
netem_had() {
	tc -n "$1" -s qdisc show dev "$1" | awk '/netem/ { getline; gsub(/[^0-9 ]/, " "); print $2, $3 }'
}

# A bad network that does nothing proves nothing: netem had packets, and the devices noticed what it did to them
bad_network() {
	local kind=$1 noticed=() before ns had=0 dropped=0 packets lost
	case $kind in
	# Queue pairs that are destroyed do not wait for an answer. A loss is found by the packet behind it, if there is one.
	loss) [ "$*" = "loss destroyed" ] || noticed=(ack_timeout out_of_seq_request duplicate_request) ;;
	duplicate) noticed=(duplicate_request) ;;
	delay) ;;
	corrupt) noticed=(rcvd_icrc_err) ;;
	*) echo "nobody knows what $kind is noticed by"; return 1 ;;
	esac
	shift
	before=$(noticed_by_both)
	program lossy "$@" || return
	for ns in w-near w-far; do
		read -r packets lost < <(netem_had $ns)
		had=$((had + packets)) dropped=$((dropped + lost))
	done
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

over "a good network" 120 -- sends writes reads atomics
over "tries are counted (adv19)" 120 -- counted_retries counted_rnr
run_test "uroce wire: two namespaces, ibv_rc_pingpong" 60 between ibv_rc_pingpong -g 1 -c -n "$(rounds 1000)"
run_test "uroce wire: two namespaces, ib_write_bw" 60 between ib_write_bw -x 1 -F -s 65536 -n "$(rounds 200)"
# sent_in_how_many COMMAND...: sets $packets, and $units: what the network device was given
sent_in_how_many() {
	local before tx
	before=$(hw_counter w-near sent_pkts) tx=$(cat /sys/class/net/w-near/statistics/tx_packets)
	between "$@" || return
	packets=$(($(hw_counter w-near sent_pkts) - before))
	units=$(($(cat /sys/class/net/w-near/statistics/tx_packets) - tx))
	echo "$packets packets in $units units"
}
# A machine that stalls takes some packets for lost, and sends a thousand singly after each
in_runs() { sent_in_how_many ib_write_bw -x 1 -F -s 1048576 -n 20 && [ $((packets * 10)) -gt $((units * 15)) ]; }
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
# while_changing WHAT CASE...: every byte of the traffic is looked at, and WHAT happens over and over; on a slow machine once
# takes nearly as long as the traffic, which is repeated then
while_changing() {
	local what=$1 traffic changes=0
	shift
	while [ $changes -lt 3 ]; do
		LOSSY_MESSAGES=1500 program lossy "$@" &
		traffic=$!
		until group_leader_gone $traffic; do
			$what || { kill $traffic; return 1; }
			changes=$((changes + 1))
		done
		wait $traffic || return
	done
}
run_test "uroce wire: packets travel in runs" 60 in_runs
run_test "uroce wire: a device that takes no super-packets" 60 one_by_one
run_test "uroce wire: packets that go singly come together" 120 put_together
run_test "uroce wire: another MTU" 60 small_mtu
run_test "uroce wire: the MTU changes under traffic (adv26)" 200 while_changing other_mtus sends writes reads atomics
run_test "uroce wire: offloads change under traffic (adv26)" 200 while_changing no_offloads sends writes reads atomics
run_test "uroce wire: a good network, and somebody looks on" 120 watched
over "a twentieth is lost" 200 loss 5% -- sends writes reads atomics
over "a tenth is lost, of many atomics at once" 100 loss 10% -- more_atomics
over "a tenth comes twice" 200 duplicate 10% -- sends writes reads atomics
over "a tenth overtakes" 200 delay 1ms reorder 90% 50% -- sends writes reads atomics
over "a twentieth is damaged" 200 corrupt 5% -- sends writes reads atomics
# Instead of dropping a packet the network marks it, and whoever sent it hears of that
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
run_test "uroce wire: a tenth is marked (ECN)" 60 congested
network
run_test "uroce wire: packets (adv21)" 300 program packets
run_test "uroce wire: packets, XRC (adv21)" 300 program packets_xrc
# An answer comes again while the first one may still lie in a queue, which one packet cannot do twice
twice() {
	local status
	"$UNIV_LIBDIR/uroce-fault" set w-near duplicate 100% || return
	program packets open forged_answers close && program lossy reads atomics answers_in_error
	status=$?
	"$UNIV_LIBDIR/uroce-fault" clear w-near && return $status
}
run_test "uroce wire: each packet comes twice (faults)" 100 twice
over "attributes change while drained (SQD)" 60 -- changed
# With IPsec a namespace says what may come, and what may leave, as for any other UDP
gives_up() { "$@" 2>&1 | grep -F "transport retry counter exceeded"; }
nothing_comes() {
	local status
	ip -n w-far xfrm policy add dir in src 10.89.0.1 dst 10.89.0.2 proto udp dport 4791 action block || return
	LOSSY_TIMEOUT=8 LOSSY_MESSAGES=1 gives_up program lossy reads
	status=$?
	ip -n w-far xfrm policy flush && return $status
}
# An MTU below 1280, as a test before had, takes the addresses of IPv6 away
ipv6_again() {
	ip -n w-near -6 addr replace fd89::1/64 dev w-near nodad && ip -n w-far -6 addr replace fd89::2/64 dev w-far nodad &&
		wait_until 5 gid_is_ipv6 w-near && wait_until 5 gid_is_ipv6 w-far
}
gid_is_ipv6() { ip netns exec "$1" cat "/sys/class/infiniband/$1/ports/1/gids/2" 2>/dev/null | grep -q '^fd89:'; }
# pingpong_ipv6 SECONDS: over the GID of fd89::1, which comes behind the link's own and the one of IPv4
pingpong_ipv6() { between timeout "$1" ibv_rc_pingpong -g 2 -n 10 2>&1; }
nothing_leaves() {
	local status=0
	ipv6_again && pingpong_ipv6 50 || return
	ip -n w-near xfrm policy add dir out src fd89::1 dst fd89::2 proto udp dport 4791 action block || return
	! pingpong_ipv6 10 || { echo "packets left against the policy"; status=1; }
	ip -n w-near xfrm policy flush && return $status
}
modprobe -q xfrm_user
if ip -n w-far xfrm policy 2>/dev/null; then
	run_test "uroce wire: an IPsec policy lets nothing come" 60 nothing_comes
	run_test "uroce wire: an IPsec policy lets nothing leave" 100 nothing_leaves
else
	report ok "uroce wire: IPsec policies" "# SKIP this kernel has none"
fi
# Connection tracking knows a connection from its second packet on, also where it was there before the device
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
	ip netns exec w-far rdma link add w-far type uroce netdev w-far && wait_until 5 gid_ready w-far || return
	program lossy writes && ip netns exec w-far nft list table inet tracked | grep -E 'counter packets [1-9]'
	status=$?
	ip netns exec w-far nft delete table inet tracked && return $status
}
if modprobe -q nf_conntrack && modprobe -q nft_ct; then
	run_test "uroce wire: connections are tracked" 60 tracked
	# Devices are listed by number, and the far one has a new one
	resources_mark
else
	report ok "uroce wire: connections are tracked" "# SKIP this kernel tracks none"
fi
# Packets to six neighbours that are gone wait in the kernel's queues, and must not use up all that may be under way
silent_neighbours() {
	local n status gone='ip -n w-near neigh flush all'
	for n in {101..106}; do
		ip -n w-far addr add 10.89.0.$n/24 dev w-far || return
		gone="ip -n w-far addr del 10.89.0.$n/24 dev w-far && $gone"
	done
	DATAGRAMS_SILENCE=$gone UNIV_TEST_GIDS="$near_and_far" program datagrams silent
	status=$?
	for n in {101..106}; do
		ip -n w-far addr del 10.89.0.$n/24 dev w-far 2>/dev/null
	done
	return $status
}
near_and_far="0000:0000:0000:0000:0000:ffff:0a59:0001 0000:0000:0000:0000:0000:ffff:0a59:0002"
run_test "uroce wire: some neighbours do not answer" 100 silent_neighbours
over "answers to queue pairs in error" 100 delay 50ms -- answers_in_error
# Longer than the test takes to see that a read has begun, so that most of it is still to be sent
network delay 300ms
run_test "uroce wire: nothing is read in error" 60 program packets open read_ends close
network
over "a send queue is drained (SQD)" 100 delay 20ms -- drains
over "destroyed while half is lost (adv20)" 150 loss 50% -- destroyed
network

run_test "uroce wire: nothing is left behind" 20 resources_unchanged
run_test "uroce wire: both devices go" 20 far_gone
run_test "uroce wire: unloaded" 30 rmmod uroce
