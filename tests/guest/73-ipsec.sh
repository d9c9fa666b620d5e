# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# IPsec: policies decide which of uroce's packets may leave a namespace and arrive in it, as for any other UDP.
#
# needs: uroce
# runs in: guest

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

# shellcheck source=tests/user/network.sh
. "$UNIV_REPO/tests/user/network.sh"

modprobe -q xfrm_user
if ! ip xfrm policy 2>/dev/null; then
	report ok "IPsec: policies" "# SKIP this kernel has none"
	exit 0
fi
need_far_and_near || exit 1

ipv6="fd89:0000:0000:0000:0000:0000:0000:0001 fd89:0000:0000:0000:0000:0000:0000:0002"

read_once() { LOSSY_TIMEOUT=12 LOSSY_MESSAGES=1 program lossy reads; }
nothing_is_read() { read_once 2>&1 | grep -F "transport retry counter exceeded"; }

# Each host is a member of the group of all nodes.
to_group() { program datagrams to_all_nodes; }
group_gets_nothing() { to_group 2>&1 | grep -F "no completion from to->cq"; }

# policy NAMESPACE in|out ADDRESSES WITHOUT WITH: WITHOUT succeeds before and after a policy of the namespace blocks RoCE packets
# between ADDRESSES, and WITH while it does.
policy() {
	local status
	# shellcheck disable=SC2086 # words
	$4 && ip -n "$1" xfrm policy add dir "$2" $3 proto udp dport 4791 action block || return
	$5
	status=$?
	ip -n "$1" xfrm policy flush && $4 && return $status
}

run_test "IPsec: a policy blocks arriving packets" 60 \
	policy w-far in "src 10.89.0.1 dst 10.89.0.2" read_once nothing_is_read
UNIV_TEST_GIDS=$ipv6 run_test "IPsec: a policy blocks arriving packets of IPv6" 60 \
	policy w-far in "src fd89::1 dst fd89::2" read_once nothing_is_read
UNIV_TEST_GIDS=$ipv6 run_test "IPsec: a policy blocks arriving packets to a group" 60 \
	policy w-far in "src ::/0 dst ff02::1" to_group group_gets_nothing
run_test "IPsec: a policy blocks outgoing packets" 60 \
	policy w-near out "src 10.89.0.1 dst 10.89.0.2" read_once nothing_is_read
UNIV_TEST_GIDS=$ipv6 run_test "IPsec: a policy blocks outgoing packets of IPv6" 60 \
	policy w-near out "src fd89::1 dst fd89::2" read_once nothing_is_read
run_test "IPsec: nothing is left behind" 20 resources_unchanged
run_test "IPsec: both devices are removed" 20 far_gone
run_test "IPsec: the modules unload" 30 rmmod uroce
