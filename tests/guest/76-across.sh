# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Two namespaces send by packets, except if the administrator names them as a pair.
#
# needs: uroce
# runs in: guest coverage-library test-kernel-networks

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

# shellcheck disable=SC2119
load_univerbs || exit 1
UNIV_LINK=uroce load_link || exit 1
across=/sys/module/uroce/parameters/across

# end NAMESPACE NETDEV N: creates an uroce device over NETDEV, at 10.90.0.N.
end() {
	ip -n "$1" addr add "10.90.0.$3/24" dev "$2" &&
		ip -n "$1" link set "$2" up &&
		ip netns exec "$1" rdma link add "$2" type uroce netdev "$2" &&
		wait_until 30 gid_ready "$2"
}

two_namespaces() {
	ip netns add a-far && ip netns attach a-near 1 &&
		ip link add a-near mtu 4200 type veth peer name a-far mtu 4200 netns a-far &&
		end a-near a-near 1 && end a-far a-far 2
}

two_namespaces || { fails "two namespaces with a device each"; exit 1; }
resources_mark
pair="$(stat -Lc %i /run/netns/a-near) $(stat -Lc %i /run/netns/a-far)"

far_listens() { [ -n "$(ip netns exec a-far ss -Hltn 'sport = :18515')" ]; }

packets() { hw_counter a-near sent_pkts; }

# between COMMAND...: runs a server in the other namespace, and its client here; sets $sent.
between() {
	local server status before
	before=$(packets)
	univ timeout $((50 * ${UNIV_SLOW:-1})) ip netns exec a-far "$@" -d a-far >"$UNIV_STATE/server.out" 2>&1 &
	server=$!
	wait_until 20 far_listens || { cat "$UNIV_STATE/server.out"; return 1; }
	univ timeout $((50 * ${UNIV_SLOW:-1})) "$@" -d a-near 10.90.0.2
	status=$?
	wait $server || { status=1; cat "$UNIV_STATE/server.out"; }
	sent=$(($(packets) - before))
	return $status
}

by_packets() {
	between "$@" || return
	[ "$sent" -gt 0 ] || { echo "no packets were sent"; return 1; }
}

by_copying() {
	between "$@" || return
	[ "$sent" -eq 0 ] || { echo "$sent packets were sent"; return 1; }
}

allow_pair() { echo "$pair" >$across && [ "$(cat $across)" = "$pair" ]; }
forbid_pair() { echo "-$pair" >$across && [ -z "$(cat $across)" ]; }

# refused TEXT: the parameter refuses TEXT, which is no pair.
refused() { ! echo "$1" 2>/dev/null >$across || { echo "it took \"$1\""; return 1; }; }

nonsense_is_refused() {
	local bad
	for bad in "" 1 "1 2" "1 2 3" "x y" "${pair% *} ${pair% *}" "-$pair" "$pair 7"; do
		refused "$bad" || return
	done
	# A process with all of root's rights in a user namespace of its own has none of them here.
	! unshare -Urn bash -c "echo '$pair' >$across" 2>/dev/null && [ -z "$(cat $across)" ]
}

goes_with_its_namespace() {
	ip netns add a-short || return
	echo "${pair% *} $(stat -Lc %i /run/netns/a-short)" >$across || return
	ip netns del a-short
	wait_until 20 no_pairs
}

no_pairs() { [ -z "$(cat $across)" ]; }

# While another pair is allowed, this one sends packets.
another_pair() {
	local status other
	ip netns add a-other || return
	other="${pair% *} $(stat -Lc %i /run/netns/a-other)"
	echo "$other" >$across && by_packets ib_write_bw -x 1 -F -s 4096 -n 100
	status=$?
	echo "-$other" >$across && ip netns del a-other && return $status
}

# An address that two namespaces have does not say which one is meant, so packets go to the one that the network leads to.
two_have_address() {
	local status other
	ip netns add a-other || return
	other="${pair% *} $(stat -Lc %i /run/netns/a-other)"
	ip -n a-other link add a-other type veth peer name a-peer && ip -n a-other link set a-peer up &&
		end a-other a-other 2 && echo "$other" >$across && by_packets ib_write_bw -x 1 -F -s 4096 -n 100
	status=$?
	echo "-$other" >$across && ip -n a-other link del a-other && wait_until 20 test ! -e /sys/class/infiniband/a-other &&
		ip netns del a-other && return $status
}

# link_gid DEVICE: its GID with the index 2 is that of an address of 169.254.7.0/24.
link_gid() { grep -qs ':ffff:a9fe:07' "/sys/class/infiniband/$1/ports/1/gids/2"; }

# Each link has link-local addresses of its own, which belong to the hosts on that link.
link_local_ipv4() {
	ip -n a-near addr add 169.254.7.1/24 dev a-near && ip -n a-far addr add 169.254.7.2/24 dev a-far &&
		wait_until 30 link_gid a-near && wait_until 30 link_gid a-far && by_packets ib_write_bw -x 2 -F -s 4096 -n 100
}

forbidden_again() {
	{ no_pairs || forbid_pair; } && by_packets ib_write_bw -x 1 -F -s 4096 -n 100
}

run_test "two namespaces: by packets" 60 by_packets ib_write_bw -x 1 -F -s 4096 -n 100
run_test "two namespaces: text that is not a pair is refused" 30 nonsense_is_refused
run_test "two namespaces: another pair is allowed" 60 another_pair
run_test "two namespaces: a pair is allowed" 10 allow_pair
for tool in "ib_write_bw -s 65536 -n 200" "ib_read_bw -s 65536 -n 200" "ib_send_bw -s 64 -n 500" "ib_send_bw -c UD -s 1024 -n 200"; do
	# shellcheck disable=SC2086 # options
	run_test "two namespaces: allowed, by copying: $tool" 60 by_copying ${tool%% *} -x 1 -F ${tool#* }
done
run_test "two namespaces: allowed, by packets to an address that a third namespace has too" 100 two_have_address
run_test "two namespaces: allowed, by packets to link-local addresses" 100 link_local_ipv4
run_test "two namespaces: allowed, by packets to link-local addresses of IPv6" 60 by_packets ib_write_bw -x 0 -F -s 4096 -n 100
run_test "two namespaces: forbidden again" 60 forbidden_again
run_test "two namespaces: a pair is removed with its namespace" 40 goes_with_its_namespace
run_test "two namespaces: nothing is left behind" 20 resources_unchanged
ip link del a-near
wait_until 10 test ! -e /sys/class/infiniband/a-far
ip netns del a-far
ip netns del a-near
