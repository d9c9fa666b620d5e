# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The commands of uroce@.service, without systemd: a device is made for a net device, kept, and removed.
#
# needs: uroce
# runs in: guest

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

unit=$UNIV_REPO/packaging/systemd/uroce@.service

# serve ExecStart|ExecStop NETDEV: runs the command of the unit. systemd has the quotes of a shell; it replaces $$ by $ and %I
# by the name of the instance.
serve() {
	local line
	line=$(sed -n "s/^$1=-\{0,1\}//p" "$unit" | sed "s/\\\$\\\$/\$/g; s/%I/$2/g")
	[ -n "$line" ] || { echo "the unit has no $1"; return 1; }
	eval "$line"
}

link_over() { rdma link show "uroce_$1/1" 2>/dev/null | grep -qw "netdev $1"; }
number_of() { rdma dev show "uroce_$1" | cut -d : -f 1; }

net_device() {
	ip link add "$1" mtu 4200 type veth peer name "$1-peer" mtu 4200 && ip link set "$1-peer" addrgenmode none up &&
		ip addr add "$2/24" dev "$1" && ip link set "$1" up
}

starts() {
	serve ExecStart sv0 && link_over sv0 && wait_until 30 gid_ready uroce_sv0 && UNIV_TEST_DEVICE=uroce_sv0 program tutorial
}

# A start after a device was made by hand, or a second start, is no error, and keeps the device and its users.
starts_again() {
	local number
	number=$(number_of sv0)
	serve ExecStart sv0 && [ "$(number_of sv0)" = "$number" ]
}

stops() {
	serve ExecStop sv0 && ! link_over sv0 && ! serve ExecStop sv0 2>/dev/null
}

# A device of this name over another net device is an error, not taken for the wanted one.
name_taken() {
	rdma link add uroce_sv0 type uroce netdev sv1 || return
	! serve ExecStart sv0 2>/dev/null && rdma link show uroce_sv0/1 | grep -qw 'netdev sv1' && rdma link del uroce_sv0
}

load_univerbs && load_driver uroce && net_device sv0 10.77.90.1 && net_device sv1 10.77.91.1 || exit 1
run_test "service: it makes a device, and programs use it" 60 starts
run_test "service: a second start keeps the device" 20 starts_again
run_test "service: it removes the device" 20 stops
run_test "service: a device of the same name over another net device" 20 name_taken
ip link del sv0
ip link del sv1
