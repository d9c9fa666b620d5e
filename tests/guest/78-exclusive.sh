# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# A uroce device that belongs to one network namespace: it is moved by itself, and other namespaces neither see nor open it.
# The kernel lets the mode change only while there is one namespace. 78-moves.sh has moves in the other mode.
#
# needs: uroce
# runs in: guest-uroce test-kernel-moves coverage-uroce test-kernel-networks

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

# shellcheck source=tests/user/moves.sh
. "$UNIV_REPO/tests/user/moves.sh"

export UNIV_LINK=uroce
load_link || exit 1
resources_mark

in_blue() { ip netns exec blue "$@"; }
index_of() { rdma dev show "$1" 2>/dev/null | cut -d: -f1; }

opened() { bash -c ': <>"$0"' "$1" 2>&1; }

# A process of another namespace finds the node, and cannot open it.
opens_in_blue_alone() {
	local class node said
	class=$(in_blue bash -c 'grep -lx "$0" /sys/class/univerbs/*/ibdev' "$1") || return
	class=${class%/ibdev} node=/dev/infiniband/${class##*/}
	in_blue bash -c ': <>"$0"' "$node" || return
	said=$(opened "$node") && { echo "$node opens here too"; return 1; }
	echo "$said" | grep "not permitted"
}

# goes_to_blue DEVICE: moves an RDMA device by itself. rdma(8) looks the device up by its name and then names it by its
# number. If the device has gone between the two, the kernel answers EINVAL or ENODEV, which can also be another failure,
# so the number tells whether this was the reason.
goes_to_blue() {
	local before
	before=$(index_of "$1")
	rdma dev set "$1" netns blue && return
	[ -n "$before" ] && [ "$(index_of "$1")" = "$before" ] || echo "$1 was replaced meanwhile"
	return 1
}

busy='Device or resource busy'
exclusive() {
	local status
	# A namespace that ends is counted until it is gone.
	repeat_while 11 "$busy" rdma system set netns exclusive &&
		ip netns add blue && ip -n blue link set lo up && setup_device m2 || return
	# The net device leaves, and its RDMA device is replaced by another one.
	ip link set m2-net netns blue &&
		repeat_while 10 "m2 was replaced meanwhile" goes_to_blue m2 &&
		wait_until 20 moved blue m2 &&
		! rdma link | grep -q m2 && ! "$UNIV_LIBDIR/uroce-fault" show m2 &&
		! "$UNIV_LIBDIR/uroce-fault" show | grep m2 && in_blue "$UNIV_LIBDIR/uroce-fault" show | grep m2 &&
		in_blue "$UNIV_LIBDIR/uroce-fault" set m2 drop 0 &&
		ip -n blue addr replace 10.94.0.1/24 dev m2-net && ip -n blue link set m2-net up &&
		wait_until 10 in_blue grep -q 0a5e:0001 /sys/class/infiniband/m2/ports/1/gids/1 && talks_in blue m2 &&
		opens_in_blue_alone m2
	status=$?
	in_blue rdma link
	in_blue rdma link del m2
	ip netns del blue && repeat_while 11 "$busy" rdma system set netns shared && return $status
}

run_test "exclusive: another namespace neither sees nor opens a device that was moved (adv25)" 150 exclusive
run_test "exclusive: nothing is left behind" 20 resources_unchanged
run_test "exclusive: the modules unload" 30 rmmod uroce
