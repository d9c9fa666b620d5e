# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Moves of uroce devices from one network namespace to another with their net device. 78-exclusive.sh has moves of RDMA
# devices that belong to one namespace each.
#
# needs: uroce
# runs in: guest-uroce test-kernel-moves coverage-uroce test-kernel-networks

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

# shellcheck source=tests/user/moves.sh
. "$UNIV_REPO/tests/user/moves.sh"

export UNIV_LINK=uroce
rm -f "$UNIV_STATE"/rxe.m[0-9]
setup_device m0 && load_univerbs || exit 1
ip netns add blue && ip -n blue link set lo up && ip netns attach first 1 || exit 1
resources_mark

has_device() { [ -e "/sys/class/infiniband/$1" ]; }
has_none() { ! has_device "$1"; }

# addressed NAMESPACE NAME: sets the net device up with an address there.
addressed() {
	ip -n "$1" addr replace 10.94.0.1/24 dev "$2-net" && ip -n "$1" link set "$2-net" up &&
		wait_until 10 gid_ready "$2"
}

index_in() { ip netns exec "$1" rdma dev show m1 | cut -d: -f1; }

# settled NAMESPACE: the device m1 arrives there, and works. Before the move begins, the old device looks like the new
# one, and is removed while the program runs. A failure is forgiven if the device has another number after it.
settled() {
	local index
	while wait_until 60 moved "$1" m1; do
		index=$(index_in "$1")
		! { addressed "$1" m1 && talks_in "$1" m1; } || return 0
		[ "$(index_in "$1")" != "$index" ] || return
		forgave 4 "the device moved after it was chosen"
	done
	return 1
}

# A program that uses the device sees its removal, as with an unplug; the new device is in the namespace of the net
# device, and works.
goes_along() {
	setup_device m1 || return
	UNIV_TEST_DEVICE=m1 program unplug "ip link set m1-net netns blue" || return
	settled blue
}

comes_back() {
	ip -n blue link set m1-net netns first && settled first
}

# Move faster than devices can be created; in the end one device is left.
to_and_fro() {
	local n
	n=$(rounds 10)
	while ((n-- > 0)); do
		ip link set m1-net netns blue && ip -n blue link set m1-net netns first || return
	done
	settled first || return
	[ "$(rdma link | grep -c m1)" = 1 ]
}

there_or_made() { has_device m1 || rdma link add m1 type uroce netdev m1-net; }

# Move while another process removes the device or creates one.
with_others() {
	local n
	n=$(rounds 6)
	while ((n-- > 0)); do
		ip link set m1-net netns blue
		rdma link del m1 2>/dev/null
		ip -n blue link set m1-net netns first
		rdma link add m1 type uroce netdev m1-net 2>/dev/null
	done
	# A device that is being destroyed has its net device (EEXIST) and its name (ENFILE) until it is gone.
	repeat_while 11 'File exists|Too many open files in system' there_or_made && settled first
}

# A user removes the device. The removal waits for calls that resolve an address, up to a second, and meanwhile the net
# device moves, once the removing process sleeps in the kernel or has ended: no device comes along.
deleted_before() {
	# shellcheck disable=SC2016 # for the shell of the program
	local waits='until grep -qs "^State:.D" /proc/$!/status && grep -qs ib_unregister_device /proc/$!/stack ||
		! grep -qs "^State:.[^Z]" /proc/$!/status || [ $((n += 1)) -gt 100 ]; do sleep 0.05; done'
	UNIV_TEST_DEVICE=m1 program unplug_late "n=0; rdma link del m1 & $waits; ip link set m1-net netns blue" contexts &&
		wait_until 30 has_none m1 && sleep 2 && has_none m1
}

# The net device returns to the first namespace when its namespace ends; its RDMA device was destroyed with that
# namespace.
namespace_ends() {
	local before
	before=$(rdma link | wc -l)
	ip netns add short && ip link add m5 type dummy && ip link set m5 netns short && ip -n short link set m5 up &&
		ip netns exec short rdma link add m5 type uroce netdev m5 && ip netns del short || return
	wait_until 20 has_none m5 || { echo "m5 is still there"; return 1; }
	[ "$(rdma link | wc -l)" = "$before" ]
}

all_nodes() { ip -n there maddr show dev w-far | grep 33:33:00:00:00:01; }

# A connection over IPv6 and the member of a multicast group remain when their device leaves a namespace, which ends.
# The net device still receives the group in its new namespace, for another member there.
stays_behind() {
	local status before
	# shellcheck source=tests/user/network.sh
	. "$UNIV_REPO/tests/user/network.sh"
	far_and_near && wait_until 20 resolved fd89::2 && ip netns add there || return
	UNIV_TEST_DEVICE=w-far UNIV_TEST_PEER=w-near \
		UNIV_TEST_GIDS="fd89:0000:0000:0000:0000:0000:0000:0001 fd89:0000:0000:0000:0000:0000:0000:0002" \
		program left_behind "ip -n w-far link set w-far netns there && ip -n there link set w-far up && ip netns del w-far"
	status=$?
	before=$(all_nodes)
	wait_until 30 moved_far || { echo "w-far is not back"; status=1; }
	echo "groups: $before, then $(all_nodes)"
	[ -n "$(all_nodes)" ] || status=1
	rdma link del w-near && ip link del w-near && ip netns del w-near && ip netns del there && return $status
}
moved_far() { ip netns exec there rdma link show w-far/1 2>/dev/null | grep -q "netdev w-far"; }

run_test "moves: with its net device, under traffic (adv07)" 150 goes_along
run_test "moves: a device returns" 150 comes_back
run_test "moves: a device moves many times" 150 to_and_fro
run_test "moves: other threads create and delete the device meanwhile" 150 with_others
run_test "moves: a device that is being deleted does not move" 100 deleted_before
run_test "moves: the namespace ends (adv25)" 60 namespace_ends
run_test "moves: the device leaves a connection and a group (adv25)" 100 stays_behind
ip -n blue link del m1-net
run_test "moves: nothing is left behind" 20 resources_unchanged

# The module is unloaded while its device moves.
unloaded_on_the_way() {
	local n
	n=$(rounds 4)
	while ((n-- > 0)); do
		ip link set m0-net netns blue && unload_univerbs && wait_until 30 has_none m0 || return
		ip -n blue link del m0-net
		setup_device m0 && load_univerbs || return
	done
}
run_test "moves: the module is unloaded meanwhile" 90 unloaded_on_the_way
remove_device m0
ip netns del blue
run_test "moves: the modules unload" 30 rmmod uroce
