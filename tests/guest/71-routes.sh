# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The routes of uroce's packets, to a peer that is behind one of two gateways: they change under traffic, and depend on the
# traffic class.
#
# needs: uroce
# runs in: guest test-kernel-networks

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

# shellcheck source=tests/user/network.sh
. "$UNIV_REPO/tests/user/network.sh"

need_far_and_near || exit 1
nowhere=02:00:00:00:0b:ad
far_mac=$(ip -n w-far -br link show dev w-far | awk '{ print $3 }')
far_gids() { ip netns exec w-far cat /sys/class/infiniband/w-far/ports/1/gids/* 2>/dev/null; }

# The far side's other addresses belong to networks of their own. They are no neighbours of the near side.
behind=10.98.0.2 behind6=fd98::2
peers="0000:0000:0000:0000:0000:ffff:0a59:0001 0000:0000:0000:0000:0000:ffff:0a62:0002"
peers6="fd89:0000:0000:0000:0000:0000:0000:0001 fd98:0000:0000:0000:0000:0000:0000:0002"

# gateway N MAC: sets the MAC address of gateway N, which is 1 or 2.
gateway() {
	ip neigh replace "10.89.0.10$1" lladdr "$2" nud permanent dev w-near &&
		ip neigh replace "fd89::10$1" lladdr "$2" nud permanent dev w-near
}

# by_gateway N: the route to the far side is by gateway N, which has the far side's MAC address. Packets by the other gateway
# are lost from then on.
by_gateway() {
	gateway "$1" "$far_mac" && ip route replace $behind/32 via "10.89.0.10$1" dev w-near &&
		ip -6 route replace $behind6/128 via "fd89::10$1" dev w-near && gateway $((3 - $1)) $nowhere
}

has_both() { far_gids | grep -qx "${peers#* }" && far_gids | grep -qx "${peers6#* }"; }

# goes_on COUNT: the far side has received many more packets than COUNT, or the program of while_changing has ended.
# shellcheck disable=SC2154 # a variable of while_changing
goes_on() { [ "$(hw_counter w-far rcvd_pkts)" -gt $(($1 + 20)) ] || group_leader_gone "$traffic"; }

# The route changes to the other gateway, and packets arrive by that one.
now=1
other_route() {
	local before
	now=$((3 - now))
	by_gateway $now && before=$(hw_counter w-far rcvd_pkts) && wait_until 20 goes_on "$before" && return
	echo "no packets arrive by gateway $now"
	return 1
}

second_network() {
	ip -n w-far addr add $behind/32 dev w-far && ip -n w-far -6 addr add $behind6/128 dev w-far nodad &&
		by_gateway 1 && wait_until 20 has_both
}

run_test "routes: the far side has addresses behind gateways" 60 second_network
UNIV_TEST_GIDS=$peers run_test "routes: another gateway under traffic" 200 while_changing other_route sends writes reads atomics
UNIV_TEST_GIDS=$peers6 run_test "routes: another gateway under traffic over IPv6" 200 while_changing other_route sends writes reads atomics

# only_gateway N: packets by the other gateway are lost.
only_gateway() { gateway "$1" "$far_mac" && gateway $((3 - $1)) $nowhere; }

# Packets of the class 0x10 go by gateway 2, and all others by gateway 1.
rules() {
	local table=10
	by_gateway 1 && ip rule add dsfield 0x10 table $table && ip -6 rule add dsfield 0x10 table $table &&
		ip route add $behind/32 via 10.89.0.102 dev w-near table $table &&
		ip -6 route add $behind6/128 via fd89::102 dev w-near table $table
}

no_rules() { ip rule del dsfield 0x10 && ip -6 rule del dsfield 0x10; }

read_once() { UNIV_TEST_CLASS=$1 LOSSY_TIMEOUT=12 LOSSY_MESSAGES=1 program lossy reads; }
nothing_is_read() { read_once "$1" 2>&1 | grep -F "transport retry counter exceeded"; }
datagrams() { UNIV_TEST_CLASS=$1 program datagrams both_ways; }
no_datagram() { datagrams "$1" 2>&1 | grep -F "no completion from to->cq"; }

# The two low bits of a class are for ECN and choose no route. A connection sets them itself.
class_chooses() {
	only_gateway 1 && read_once 0 && datagrams 1 && nothing_is_read 0x10 && no_datagram 0x11 &&
		only_gateway 2 && read_once 0x10 && datagrams 0x11 && nothing_is_read 0 && no_datagram 1
}

run_test "routes: a rule for a traffic class" 30 rules
UNIV_TEST_GIDS=$peers run_test "routes: a traffic class has its own route" 100 class_chooses
UNIV_TEST_GIDS=$peers6 run_test "routes: a traffic class has its own route over IPv6" 100 class_chooses
run_test "routes: the rules are removed" 20 no_rules
run_test "routes: nothing is left behind" 20 resources_unchanged
run_test "routes: both devices are removed" 20 far_gone
run_test "routes: the modules unload" 30 rmmod uroce
