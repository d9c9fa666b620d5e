# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# uroce and parts of the kernel that Debian 12's kernel does not have: dma-bufs of /dev/udmabuf, which the kernel maps since
# 6.2, and of heaps; flushes and atomic writes to and from the kernel's rdma_rxe, which has both since 6.3. rdma_rxe's
# library is Debian 13's, from build/suites/trixie, because Debian 12's cannot post a flush.
#
# needs: uroce
# runs in: kernels-uroce

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

load_driver uroce || exit 1
trixie=$UNIV_REPO/build/suites/trixie

dmabufs() {
	[ -e /dev/udmabuf ] && [ -e /dev/dma_heap/system ] || skip "this kernel has no /dev/udmabuf, or no heap of dma-bufs"
	UNIV_TEST_DEVICE=n0 program dmabuf
}

# card NAMESPACE NAME KIND N: a device on the net device of that name
card() {
	ip -n "$1" addr add "10.90.0.$4/24" dev "$2" && ip -n "$1" link set "$2" up &&
		ip netns exec "$1" rdma link add "$2" type "$3" netdev "$2"
}

# The devices are in two namespaces, because both listen to the port of RoCE.
two_kinds() {
	ip netns attach n-rxe 1 && ip netns add n-uroce &&
		ip link add n-rxe mtu 4200 type veth peer name n-uroce mtu 4200 netns n-uroce &&
		card n-rxe n-rxe rxe 1 && card n-uroce n-uroce uroce 2 &&
		wait_until 30 gid_ready n-rxe && wait_until 30 gid_ready n-uroce
}

# enter_trixie: gives the other root what its processes need.
enter_trixie() {
	local dir
	[ -e "$trixie/complete" ] || { echo "there is no $trixie: tests/programs/suites --fetch trixie"; return 1; }
	for dir in proc sys dev; do
		mount --rbind "/$dir" "$trixie/$dir" || return
	done
	cp "$TEST_BIN/with_rxe" "$trixie/tmp/"
}

# with_rxe CASE...
with_rxe() {
	modprobe -q rdma_rxe || skip "this kernel has no rdma_rxe"
	[ -e /sys/class/infiniband/n-uroce ] || { enter_trixie && two_kinds; } || return
	UNIV_TEST_DEVICE=n-uroce UNIV_TEST_PEER=n-rxe \
		UNIV_TEST_PEER_RUN="chroot $trixie env -u LD_LIBRARY_PATH /tmp/with_rxe" program with_rxe "$@"
}

all_gone() {
	[ ! -e /sys/class/infiniband/n-rxe ] || { rdma link del n-rxe && ip link del n-rxe && ip netns del n-uroce; } || return
	remove_device n0 && wait_until 15 test ! -e /sys/class/infiniband/n-uroce
}

UNIV_LINK=uroce setup_device n0 || exit 1
run_test "dmabuf, with /dev/udmabuf and a heap" 300 dmabufs
run_test "with_rxe: atomic writes between uroce and rdma_rxe (adv22)" 200 with_rxe atomic_write atomic_write_refused not_persistent
run_test "with_rxe: flushes between uroce and rdma_rxe (adv22)" 300 with_rxe flush flush_chain flush_refused
run_test "newer: the devices go" 60 all_gone
