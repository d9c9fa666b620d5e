# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Routes that change while uroce sends: the peer is behind one of two gateways.
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
run_test "routes: nothing is left behind" 20 resources_unchanged
run_test "routes: both devices are removed" 20 far_gone
run_test "routes: the modules unload" 30 rmmod uroce
