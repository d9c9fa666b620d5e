# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# uroce on top of, and below, the kernel's other net devices: VLANs, bonds, bridges, macvlans; and with IPv6. There is a
# device in each of two network namespaces, and every byte between them is checked.
#
# needs: uroce
# runs in: guest-uroce networks test-kernel-networks

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

# shellcheck disable=SC2119
load_univerbs || exit 1
UNIV_LINK=uroce load_link || exit 1

# shellcheck source=tests/user/network.sh
. "$UNIV_REPO/tests/user/network.sh"

far_and_near || { fails "networks: two namespaces with a device each"; exit 1; }
resources_mark

near() { ip -n w-near "$@"; }
far() { ip -n w-far "$@"; }

# gid4 NET N, gid6 NET N: print the GID of address N of network NET, as sysfs writes it.
gid4() { printf '0000:0000:0000:0000:0000:ffff:0a%02x:%04x' "$1" "$2"; }
gid6() { printf 'fd%d:0000:0000:0000:0000:0000:0000:%04x' "$1" "$2"; }
ipv4_of() { echo "$(gid4 "$1" 1) $(gid4 "$1" 2)"; }
ipv6_of() { echo "$(gid6 "$1" 1) $(gid6 "$1" 2)"; }

# has_gid DEVICE GID: true if the device has the GID.
has_gid() { cat "/sys/class/infiniband/$1/ports/1/gids/"* 2>/dev/null | grep -qx "$2"; }

# addressed NAMESPACE NETDEV NET N: sets the netdev up, with addresses N of network NET.
addressed() {
	ip -n "$1" addr add "10.$3.0.$4/24" dev "$2" && ip -n "$1" -6 addr add "fd$3::$4/64" dev "$2" nodad &&
		ip -n "$1" link set "$2" up
}

# device NAMESPACE NETDEV: creates an uroce device with the name of the netdev.
device() { ip netns exec "$1" rdma link add "$2" type uroce netdev "$2"; }

# ready DEVICE NET N: waits until the device has the GIDs of those addresses.
ready() {
	wait_until 10 has_gid "$1" "$(gid4 "$2" "$3")" && wait_until 10 has_gid "$1" "$(gid6 "$2" "$3")" && return
	echo "$1 has not both GIDs of address $3 in network $2:"
	cat "/sys/class/infiniband/$1/ports/1/gids/"[0-9]
	return 1
}

# reaches NET: waits until the far side's addresses are resolved, however long a link takes to come up.
reaches() { wait_until 20 resolved "10.$1.0.2" && wait_until 20 resolved "fd$1::2"; }

# forgets DEVICE NET: true if the device has none of the near side's addresses in NET.
forgets() { ! has_gid "$1" "$(gid4 "$2" 1)" && ! has_gid "$1" "$(gid6 "$2" 1)"; }

# talk NEAR FAR GIDS: tests connections and datagrams.
talk() {
	local -x UNIV_TEST_DEVICE=$1 UNIV_TEST_PEER=$2 UNIV_TEST_GIDS=$3
	program lossy sends writes reads atomics && program datagrams both_ways
}

talk_both() { reaches "$3" && talk "$1" "$2" "$(ipv4_of "$3")" && talk "$1" "$2" "$(ipv6_of "$3")"; }

# link_gids DEVICE DEVICE: prints the link-local GIDs of both.
link_gids() {
	local first second
	read -r first <"/sys/class/infiniband/$1/ports/1/gids/0"
	read -r second <"/sys/class/infiniband/$2/ports/1/gids/0"
	echo "$first $second"
	[[ $first == fe80:* && $second == fe80:* ]]
}

link_local() {
	local gids
	gids=$(link_gids "$1" "$2") && talk "$1" "$2" "$gids"
}

# received NAMESPACE NETDEV: prints the number of received packets.
received() { ip netns exec "$1" cat "/sys/class/net/$2/statistics/rx_packets"; }

# served SERVER... -- CLIENT...: starts the server, and runs the client when the server is ready. Both succeed.
served() {
	local server=() status limit=$((30 * ${UNIV_SLOW:-1})) pid
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	: >"$UNIV_STATE/server.out"
	univ timeout "$limit" "${server[@]}" >"$UNIV_STATE/server.out" 2>&1 &
	pid=$!
	wait_until 20 is_ready && univ timeout "$limit" "$@"
	status=$?
	[ $status -eq 0 ] || kill $pid
	wait $pid && [ $status -eq 0 ] && return
	echo "${server[*]}:"
	cat "$UNIV_STATE/server.out"
	return 1
}

is_ready() { rdma resource show cm_id | grep -Eq 'LISTEN.*(rping|dial)' || grep -q "receiving data" "$UNIV_STATE/server.out"; }

in_far=(ip netns exec w-far)

# connects ADDRESS [COMMAND...]: rdma_cm connects to an address. COMMAND runs the server in another namespace.
connects() { served "${@:2}" rping -s -C 3 -a "$1" -- rping -c -V -C 3 -a "$1"; }

# connects_both NET: rdma_cm connects to the far side's addresses in NET, and within one host to the near side's.
connects_both() {
	connects "10.$1.0.2" "${in_far[@]}" && connects "fd$1::2" "${in_far[@]}" && connects "10.$1.0.1" && connects "fd$1::1"
}

# link_address NAMESPACE NETDEV: prints the link-local address of the netdev.
link_address() { ip -n "$1" -6 -o addr show dev "$2" scope link | sed 's,.*inet6 \([^/]*\)/.*,\1,'; }

# connects_link NEAR FAR: the same to the link-local address of netdev FAR, from netdev NEAR.
connects_link() {
	local address
	address=$(link_address w-far "$2")
	served "${in_far[@]}" rping -s -C 3 -a "$address%$2" -- rping -c -V -C 3 -a "$address%$1"
}

# group FROM TO NEAR FAR: members of a group at the addresses FROM and TO, on netdev NEAR here and netdev FAR there. The
# member at FROM sends, and the member at TO receives. TO is there if it ends with .2, and otherwise FROM is.
group() {
	local receiver=(stdbuf -oL mckey -b "$2" -m 239.1.1.1 -C 5 -S 100) sender=(mckey -b "$1" -m 239.1.1.1 -C 5 -S 100 -s)
	near route replace 239.0.0.0/8 dev "$3" && far route replace 239.0.0.0/8 dev "$4" || return
	if [[ $2 == *.2 ]]; then
		served "${in_far[@]}" "${receiver[@]}" -- "${sender[@]}"
	else
		served "${receiver[@]}" -- "${in_far[@]}" "${sender[@]}"
	fi
}

# with_traffic DEVICE PEER GIDS COMMAND...: repeats COMMAND while messages are sent both ways; all of them arrive. The messages
# are repeated if COMMAND ran less than twice.
with_traffic() {
	local -x UNIV_TEST_DEVICE=$1 UNIV_TEST_PEER=$2 UNIV_TEST_GIDS=$3 LOSSY_TIMEOUT=16 LOSSY_MESSAGES=2000
	local traffic again changes=0
	shift 3
	for again in 0 1 2 3; do
		program lossy sends writes reads atomics &
		traffic=$!
		until group_leader_gone $traffic; do
			"$@" $changes || { kill $traffic; return 1; }
			changes=$((changes + 1))
		done
		echo "$changes times"
		wait $traffic || return
		[ $changes -le 1 ] || { repeated $again "too few changes came in between"; return 0; }
	done
	return 1
}

has_sent() { [ "$(hw_counter "$1" sent_pkts)" -gt "$2" ]; }
has_none() { [ ! -e "/sys/class/infiniband/$1" ]; }

# connects_many NEAR FAR: a program connects many times at once, from netdev NEAR to the link-local address of netdev FAR.
connects_many() {
	local from to
	from=$(link_address w-near "$1") && to=$(link_address w-far "$2") &&
		served "${in_far[@]}" "$TEST_BIN/dial" 16 "$to" "$2" -- "$TEST_BIN/dial" 16 "$from" "$1" "$to"
}

# ends_under_traffic DEVICE PEER GIDS COMMAND...: after COMMAND the programs end soon, with an error.
ends_under_traffic() {
	local -x UNIV_TEST_DEVICE=$1 UNIV_TEST_PEER=$2 UNIV_TEST_GIDS=$3 LOSSY_MESSAGES=1000000
	local traffic before
	before=$(hw_counter "$1" sent_pkts)
	shift 3
	program lossy reads >"$UNIV_STATE/ends.out" 2>&1 &
	traffic=$!
	if ! wait_until 20 has_sent "$UNIV_TEST_DEVICE" $((before + 100)); then
		cat "$UNIV_STATE/ends.out"
		kill $traffic 2>/dev/null
		return 1
	fi
	"$@" || return
	wait_until 20 group_leader_gone $traffic || { echo "the program is stuck"; kill -KILL $traffic; return 1; }
	! wait $traffic || { echo "the program noticed nothing"; return 1; }
}

# ---- IPv6 ----------------------------------------------------------------------------------------------------------

run_test "networks: the peer's addresses can be reached" 100 reaches 89
run_test "networks: IPv6" 60 talk w-near w-far "$(ipv6_of 89)"
run_test "networks: link-local IPv6 addresses" 60 link_local w-near w-far

# ---- a full queue --------------------------------------------------------------------------------------------------

# slow NAMESPACE: sets up a queue that holds few packets and sends them slowly.
slow() { tc -n "$1" qdisc replace dev "$1" root tbf rate 200mbit burst 16kb limit 32kb 2>/dev/null; }

dropped() { tc -n "$1" -s qdisc show dev "$1" | sed -n 's/.*dropped \([0-9]*\).*/\1/p' | head -n 1; }

# A packet that finds no room in the queue is refused at once, with ENOBUFS.
full_queue() {
	local status
	if ! slow w-near || ! slow w-far; then
		echo "this kernel has no such queue (tbf)"
		return 77
	fi
	LOSSY_TIMEOUT=14 talk w-near w-far "$(ipv4_of 89)"
	status=$?
	echo "dropped: $(dropped w-near), $(dropped w-far)"
	[ "$(dropped w-near)" -gt 0 ] || status=1
	tc -n w-near qdisc del dev w-near root && tc -n w-far qdisc del dev w-far root && return $status
}

run_test "networks: a full queue on the route" 100 full_queue

# ---- VLAN ----------------------------------------------------------------------------------------------------------

vlan() {
	near link add link w-near name v-near type vlan id 7 && far link add link w-far name v-far type vlan id 7 &&
		addressed w-near v-near 90 1 && addressed w-far v-far 90 2
}

# tagged GIDS: packets from these addresses arrive at the VLAN interface.
tagged() {
	local before after
	before=$(received w-far v-far)
	talk w-near w-far "$1" || return
	after=$(received w-far v-far)
	echo "$((after - before)) packets with the tag"
	[ $((after - before)) -gt 100 ]
}

# A device has the addresses of the interfaces on top of its net device; packets from these addresses carry the tag.
vlan_traffic() {
	ready w-near 90 1 && ready w-far 90 2 && reaches 90 && tagged "$(ipv4_of 90)" && tagged "$(ipv6_of 90)"
}

# Packets wait in a queue of the near interface until half a second has passed, and GRO makes one packet of those that
# arrive together. The interface of the far side then counts fewer packets than its device.
vlan_combined() {
	local before after status
	if ! tc -n w-near qdisc replace dev v-near root netem slot 500ms 500ms 2>/dev/null; then
		echo "this kernel has no such queue (netem with slots)"
		return 77
	fi
	ethtool -K w-near tso off && "${in_far[@]}" ethtool -K w-far gro on || return
	before=$(($(hw_counter w-far rcvd_pkts) - $(received w-far v-far)))
	connects_many v-near v-far
	status=$?
	after=$(($(hw_counter w-far rcvd_pkts) - $(received w-far v-far)))
	tc -n w-near qdisc del dev v-near root && ethtool -K w-near tso on && "${in_far[@]}" ethtool -K w-far gro off || return
	echo "$((after - before)) packets fewer have passed the interface"
	[ $status -eq 0 ] && [ $((after - before)) -gt 4 ]
}

# The same with tags that lie in the frames. From Linux 6.10 on GRO leaves it to uroce to find the IP header behind such a tag.
vlan_in_frames() {
	local status
	ethtool -K w-near txvlan off && vlan_combined
	status=$?
	ethtool -K w-near txvlan on
	return $status
}

# Packets of RoCE leave the far side with the tag of its VLAN, whatever their addresses are. The qdisc clsact is there.
tag_all() {
	tc -n w-far filter add dev w-far egress protocol ipv6 u32 match ip6 dport 4791 0xffff action mirred egress redirect dev v-far
}

# A VLAN has the link-local address of the interface below it, but it is another link. An answer that comes by the VLAN does not
# count for a connection without the tag, although its addresses are right.
vlan_is_another_link() {
	local before gids out status=0
	[ "$(link_address w-near w-near)" = "$(link_address w-near v-near)" ] && gids=$(link_gids w-near w-far) || return
	if ! tc -n w-far qdisc add dev w-far clsact 2>/dev/null; then
		echo "this kernel has no such queue (clsact)"
		return 77
	fi
	tag_all || { tc -n w-far qdisc del dev w-far clsact; return 1; }
	before=$(received w-near v-near)
	out=$(UNIV_TEST_DEVICE=w-near UNIV_TEST_PEER=w-far UNIV_TEST_GIDS=$gids LOSSY_TIMEOUT=8 program lossy reads) && status=1
	grep -q "message 0: transport retry counter exceeded" <<<"$out" || status=1
	[ "$(received w-near v-near)" -gt "$before" ] || { echo "nothing came by the VLAN"; status=1; }
	[ $status -eq 0 ] || echo "$out"
	tc -n w-far qdisc del dev w-far clsact && link_local w-near w-far && return $status
}

# ib_core would give such a device no address.
vlan_refused() {
	! device w-near v-near && [ ! -e /sys/class/infiniband/v-near ] &&
		dmesg | tail -n 20 | grep "v-near is a VLAN"
}

# Remove the near interface, then the far one; its addresses go with each. The near side's new interface has to resolve
# its neighbour again.
vlan_goes() {
	ends_under_traffic w-near w-far "$(ipv4_of 90)" near link del v-near && wait_until 10 forgets w-near 90 &&
		near link add link w-near name v-near type vlan id 7 && addressed w-near v-near 90 1 && ready w-near 90 1 && reaches 90 &&
		ends_under_traffic w-near w-far "$(ipv6_of 90)" far link del v-far &&
		near link del v-near && wait_until 10 forgets w-near 90 && below_as_before
}

below_as_before() { talk_both w-near w-far 89; }

if modprobe -q 8021q || [ -d /proc/net/vlan ]; then
	run_test "networks: VLAN: interfaces" 30 vlan
	run_test "networks: VLAN" 100 vlan_traffic
	run_test "networks: VLAN: rdma_cm" 100 connects_both 90
	run_test "networks: VLAN: rdma_cm by link-local addresses" 60 connects_link v-near v-far
	run_test "networks: VLAN: its link-local addresses are not those of the interface below" 60 vlan_is_another_link
	run_test "networks: VLAN: many connections at once by link-local addresses" 100 vlan_combined
	run_test "networks: VLAN: many connections at once, with tags in the frames" 100 vlan_in_frames
	run_test "networks: VLAN: a multicast group" 60 group 10.90.0.1 10.90.0.2 v-near v-far
	run_test "networks: VLAN: no device of its own" 30 vlan_refused
	run_test "networks: VLAN: untagged traffic as before" 100 below_as_before
	run_test "networks: VLAN: is deleted under traffic (adv07)" 100 vlan_goes
	run_test "networks: VLAN: nothing is left behind" 20 resources_unchanged
else
	report ok "networks: VLAN" "# SKIP this kernel has none"
fi

# ---- macvlan -------------------------------------------------------------------------------------------------------

# Two devices of one namespace with a network between them.
group_of_two() {
	near link add b-one mtu 4200 type veth peer name b-two mtu 4200 && addressed w-near b-one 97 1 &&
		addressed w-near b-two 97 2 && device w-near b-one && device w-near b-two && ready b-one 97 1 && ready b-two 97 2 &&
		UNIV_TEST_DEVICE=b-one UNIV_TEST_PEER=b-two UNIV_TEST_GIDS=$(ipv6_of 97) program datagrams to_all_nodes || return
	near link del b-one && wait_until 10 has_none b-one && wait_until 10 has_none b-two
}

run_test "networks: a multicast group of two devices in one namespace" 60 group_of_two

macvlan() {
	near link add link w-near name mv-near type macvlan mode bridge && addressed w-near mv-near 91 1 &&
		far link add link w-far name mv-far type macvlan mode bridge && addressed w-far mv-far 91 2 &&
		device w-near mv-near && device w-far mv-far && ready mv-near 91 1 && ready mv-far 91 2 &&
		talk_both mv-near mv-far 91
}

# joins NETDEV: a socket is a member of the group of group() on the netdev. Sets joined to its process.
joins() {
	python3 -c "$(printf '%s\n' 'import socket, struct, sys, time' 's = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)' \
		'member = struct.pack("4s4si", socket.inet_aton("239.1.1.1"), bytes(4), socket.if_nametoindex(sys.argv[1]))' \
		's.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)' 'time.sleep(1000)')" "$1" &
	joined=$!
	wait_until 20 is_member "$1"
}

is_member() { near maddr show dev "$1" | grep -q 239.1.1.1; }

# A member on the device below gets each datagram once, although the macvlan receives a copy of it for a socket.
macvlan_below() {
	local before after status joined
	near link add link w-near name mv-near type macvlan mode bridge && near link set mv-near up || return
	before=$(hw_counter w-near rcvd_pkts)
	joins mv-near && group 10.89.0.2 10.89.0.1 w-near w-far
	status=$?
	after=$(hw_counter w-near rcvd_pkts)
	kill "$joined"
	near link del mv-near && [ $status -eq 0 ] || return
	[ $((after - before)) -eq 5 ] || { echo "$((after - before)) packets have been received instead of 5"; return 1; }
}

macvlan_goes() {
	ends_under_traffic mv-near mv-far "$(ipv4_of 91)" near link del mv-near && wait_until 10 has_none mv-near &&
		far link del mv-far && wait_until 10 has_none mv-far && below_as_before
}

if modprobe -q macvlan || [ -e /sys/module/macvlan ]; then
	run_test "networks: macvlan: a multicast group on the device below" 60 macvlan_below
	run_test "networks: macvlan" 100 macvlan
	run_test "networks: macvlan: is deleted under traffic (adv07)" 100 macvlan_goes
	run_test "networks: macvlan: nothing is left behind" 20 resources_unchanged
else
	report ok "networks: macvlan" "# SKIP this kernel has none"
fi

# ---- bridge --------------------------------------------------------------------------------------------------------

# A second cable, whose near end is a port of a bridge.
bridge() {
	near link add br-near type bridge && ip link add p-near mtu 4200 netns w-near type veth peer name p-far mtu 4200 netns w-far &&
		near link set p-near master br-near up && addressed w-near br-near 92 1 && addressed w-far p-far 92 2 &&
		device w-near br-near && device w-far p-far && ready br-near 92 1 && ready p-far 92 2 &&
		talk_both br-near p-far 92
}

# A device over the port has the addresses of the bridge.
bridge_port() {
	rdma link del br-near && device w-near p-near && ready p-near 92 1 && talk_both p-near p-far 92
}

bridge_goes() {
	ends_under_traffic p-near p-far "$(ipv4_of 92)" near link del br-near || return
	wait_until 10 forgets p-near 92 || { echo "p-near still has the addresses of the bridge"; return 1; }
	near link del p-near && wait_until 10 has_none p-near && wait_until 10 has_none p-far
}

if modprobe -q bridge || [ -e /sys/module/bridge ]; then
	run_test "networks: bridge" 100 bridge
	run_test "networks: bridge: over a device of its port" 100 bridge_port
	run_test "networks: bridge: a multicast group, over a device of its port" 60 group 10.92.0.2 10.92.0.1 br-near p-far
	run_test "networks: bridge: is deleted under traffic (adv07)" 100 bridge_goes
	run_test "networks: bridge: nothing is left behind" 20 resources_unchanged
else
	report ok "networks: bridge" "# SKIP this kernel has none"
fi

# ---- bond ----------------------------------------------------------------------------------------------------------

# Two cables between two bonds, of which one cable is used.
bond() {
	local side
	for side in near far; do
		$side link add bond-$side mtu 4200 type bond mode active-backup miimon 20 || return
	done
	for n in 1 2; do
		ip link add b$n-near mtu 4200 netns w-near type veth peer name b$n-far mtu 4200 netns w-far || return
		for side in near far; do
			$side link set b$n-$side master bond-$side && $side link set b$n-$side up || return
		done
	done
	addressed w-near bond-near 93 1 && addressed w-far bond-far 93 2 && device w-near bond-near &&
		device w-far bond-far && ready bond-near 93 1 && ready bond-far 93 2 && talk_both bond-near bond-far 93
}

active() { ip netns exec w-near cat /sys/class/net/bond-near/bonding/active_slave; }
another_is_active() { local now; now=$(active); [ -n "$now" ] && [ "$now" != "$1" ]; }

# The cable in use loses its carrier, the other cable takes over, and then the first comes back.
fail_over() {
	local was
	was=$(active)
	near link set "$was" down && wait_until 10 another_is_active "$was" && near link set "$was" up && pause 0.2
}

# When another port becomes active, ib_core removes the addresses of the bond and adds them again.
fails_over() {
	local -x LOSSY_ADDRESS_GOES=1
	with_traffic bond-near bond-far "$(ipv4_of 93)" fail_over
}

bond_goes() {
	ends_under_traffic bond-near bond-far "$(ipv4_of 93)" near link del bond-near && wait_until 10 has_none bond-near &&
		far link del bond-far && wait_until 10 has_none bond-far && near link del b1-near && near link del b2-near
}

if modprobe -q bonding max_bonds=0 || [ -e /sys/module/bonding ]; then
	run_test "networks: bond" 100 bond
	run_test "networks: bond: the active port is removed under traffic" 200 fails_over
	run_test "networks: bond: is deleted under traffic (adv07)" 100 bond_goes
	run_test "networks: bond: nothing is left behind" 20 resources_unchanged
else
	report ok "networks: bond" "# SKIP this kernel has none"
fi

run_test "networks: both devices are removed" 20 far_gone
run_test "networks: the modules unload" 30 rmmod uroce
