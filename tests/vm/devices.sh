# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Functions that run inside a guest: waiting, modules and devices. Tests (lib.sh) and the hosts of univerbs-vm use them.
# The names of devices created so far are in files under $UNIV_STATE. $UNIV_KO is univerbs.ko in a built tree; if it is
# empty, the installed modules are used.

note() { printf '# %s\n' "$*"; }

# ---- waiting -------------------------------------------------------------------------------------------------------

# pause SECONDS: sleeps without a fork, because forks are slow in an emulated guest.
pause() {
	if [ -z "${univ_pause_fd:-}" ]; then
		[ -p "$UNIV_STATE/pause" ] || mkfifo "$UNIV_STATE/pause" 2>/dev/null
		exec {univ_pause_fd}<>"$UNIV_STATE/pause"
	fi
	read -r -t "$1" -u "$univ_pause_fd" _ || :
}

# poll_until SECONDS COMMAND...: repeats COMMAND until it succeeds; false after SECONDS.
poll_until() {
	local end=$((${EPOCHREALTIME/[.,]/} + $1 * 1000000))
	shift
	until "$@"; do
		[ "${EPOCHREALTIME/[.,]/}" -lt "$end" ] || return 1
		pause "${WAIT_STEP:-0.02}"
	done
}

# wait_until SECONDS COMMAND...: the same. A kernel with many debug checks gets UNIV_SLOW times as long, as in run_test.
wait_until() {
	local seconds=$(($1 * ${UNIV_SLOW:-1}))
	shift
	poll_until "$seconds" "$@"
}

# ---- devices -------------------------------------------------------------------------------------------------------

gid_ready() {
	local gid
	read -r gid 2>/dev/null <"/sys/class/infiniband/$1/ports/1/gids/1" || return 1
	case $gid in 0000:0000:0000:0000:0000:ffff:*) return 0 ;; esac
	return 1
}

# The kind of device that tests run on: rxe, or uroce, a native driver.
: "${UNIV_LINK:=rxe}"
export UNIV_LINK

# shellcheck disable=SC2034 # for the scripts of tests
link_module=$UNIV_LINK
[ "$UNIV_LINK" != rxe ] || link_module=rdma_rxe

# load_driver NAME: loads a module of ours other than univerbs, with the kernel modules that it depends on.
load_driver() {
	local ko=${UNIV_KO%/core/*}/$1/$1.ko
	[ ! -e "/sys/module/$1" ] || return 0
	[ -n "$UNIV_KO" ] || { modprobe "$1"; return; }
	# shellcheck disable=SC2119
	load_univerbs || return
	# shellcheck disable=SC2046 # names
	modprobe -a $(modinfo -F depends "$ko" | tr , '\n' | grep -vx univerbs) && insmod "$ko"
}

# use_link KIND: later tests create devices of that kind. rxe0 is removed, whatever its kind.
use_link() {
	[ ! -e /sys/class/infiniband/rxe0 ] || remove_device rxe0 || return
	UNIV_LINK=$1
	link_module=$UNIV_LINK
	[ "$UNIV_LINK" != rxe ] || link_module=rdma_rxe
}

# load_link: loads the module of the kind of device.
load_link() {
	if [ "$UNIV_LINK" = rxe ]; then
		modprobe rdma_rxe
	else
		load_driver "$UNIV_LINK"
	fi
}

# link_number NAME: prints the number of the network of the device.
link_number() {
	local n
	[ "$1" != rxe0 ] || { echo 0; return; }
	n=$(cat "$UNIV_STATE/rxe.$1" 2>/dev/null) || n=$(($(cat /dev/null "$UNIV_STATE"/rxe.* 2>/dev/null | sort -n | tail -n 1) + 1))
	echo "$n" | tee "$UNIV_STATE/rxe.$1"
}

# setup_device NAME [NETDEV]: creates a device whose GID index 1 is its IPv4 address, over NETDEV (which has its
# addresses already) or over NAME-net, created here. One netdev that sends to its own address carries RoCE within the
# guest. It is a veth and not a dummy, since a dummy has no speed and the kernel warns about that each time a port is
# queried. The MTU leaves room for the largest RDMA MTU (4096). Addresses are 10.77.N.1 and fd77:N::1, and stay the same
# when a device is created again: N is 0 for rxe0, which third-party programs use, and counts from 1 for the others.
setup_device() {
	local name=$1 dev=${2:-} n
	[ ! -e "/sys/class/infiniband/$name" ] || return 0
	load_link || return
	if [ -z "$dev" ]; then
		dev=$name-net
		n=$(link_number "$name")
		if [ ! -e "/sys/class/net/$dev" ]; then
			ip link add "$dev" mtu 4200 type veth peer name "$name-peer" mtu 4200 &&
				ip link set "$name-peer" addrgenmode none up &&
				ip addr add "10.77.$n.1/24" dev "$dev" &&
				ip -6 addr add "fd77:$n::1/64" dev "$dev" nodad || return
		fi
		ip link set "$dev" up || return
	fi
	rdma link add "$name" type "$UNIV_LINK" netdev "$dev" || return
	wait_until 30 gid_ready "$name" || { note "$name: GID 1 is not an IPv4 address"; return 1; }
}

# setup_card DEVICE IPV4 IPV6: creates a device over the card that connects this guest to others. The IPv4 address is
# added first, so that GID 1 is the IPv4 address. The card gets a plain queue, since the usual one drops packets that
# waited while the other guest had no processor, and unreliable connections do not repeat them.
setup_card() {
	# A kernel may lack the driver of the card that this guest does not have.
	modprobe -qa virtio_net e1000e
	wait_until 30 test -e /sys/class/net/eth0 || return
	ip addr add "$2/24" dev eth0 &&
		ip -6 addr add "$3/64" dev eth0 nodad &&
		ip link set eth0 up &&
		tc qdisc replace dev eth0 root pfifo limit 10000 &&
		setup_device "$1" eth0
}

netdev_of() { cat "/sys/class/infiniband/$1/ports/1/gid_attrs/ndevs/1"; }

# remove_device NAME: removes the device and its netdev.
remove_device() {
	rdma link del "$1" || return
	[ ! -e "/sys/class/net/$1-net" ] || ip link del "$1-net"
}

univerbs_loaded() { [ -e /sys/module/univerbs ]; }

# load_univerbs [MODULE PARAMETER...]: loads univerbs, unless it is loaded.
# shellcheck disable=SC2120
load_univerbs() {
	! univerbs_loaded || return 0
	modprobe -a ib_core ib_uverbs rdma_ucm || return
	if [ -n "$UNIV_KO" ]; then
		insmod "$UNIV_KO" "$@"
	else
		modprobe univerbs "$@"
	fi
}

unload_univerbs() {
	[ ! -e /sys/module/uroce ] || rmmod uroce || return
	! univerbs_loaded || rmmod univerbs
}
