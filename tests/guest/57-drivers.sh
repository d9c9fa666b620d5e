# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# A device of a driver that was not reviewed gets no node, and programs that look for it get an explanation, unless the
# administrator has named the driver.
#
# needs: modules
# runs in: test-kernel-rxe coverage-library test-kernel-processes

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

mock_ko=${UNIV_KO%/kernel/core/*}/tests/unknown/univ_mock.ko

[ -e "$mock_ko" ] || skip "there is no module of an unknown driver (make test-programs)"
unload_univerbs || exit 1

has_node() { grep -qx mock0 /sys/class/univerbs/*/ibdev 2>/dev/null; }

logged() { dmesg | grep -q "mock0: univerbs: $1"; }

# explained REGEX: the library explains why it does not list the device.
explained() {
	local err=$UNIV_STATE/drivers.err
	UNIVERBS_EXPLAIN=1 univ ibv_devices >"$err.out" 2>"$err"
	if grep -q mock0 "$err.out"; then echo "mock0 is listed"; return 1; fi
	grep -q "$1" "$err" && return
	echo "nothing explains it:"
	cat "$err"
	return 1
}

refused() {
	insmod "$UNIV_KO" || return
	if has_node; then echo "mock0 has a node"; return 1; fi
	logged "not served" || { echo "the kernel log does not say so"; return 1; }
	explained 'does not serve device mock0.*unchecked_drivers'
}

# Load the device before univerbs, so that univerbs finds it as ib_core shows a device without verbs.
without_verbs() {
	rmmod univerbs && rmmod univ_mock && insmod "$mock_ko" no_verbs=1 && insmod "$UNIV_KO" || return
	explained 'no node for device mock0.*no verbs in the kernel'
}

on_request() {
	rmmod univerbs && insmod "$UNIV_KO" unchecked_drivers=siw,univ_mock || return
	has_node || { echo "mock0 has no node"; return 1; }
	logged "served on request" || { echo "the kernel log does not warn"; return 1; }
	univ ibv_devices | grep -q mock0
}

modprobe -a ib_core ib_uverbs rdma_ucm
run_test "the mock device is created" 30 insmod "$mock_ko"
run_test "an unchecked driver is refused" 60 refused
run_test "a driver named in unchecked_drivers is served" 60 on_request
run_test "a driver without kernel verbs is explained" 60 without_verbs
run_test "the mock device is removed" 30 rmmod univ_mock

# siw is served, but no program connects over it (Documentation/drivers.rst). Debian's kernels do not have it. rping
# creates its queue pair before it looks for a server.
siw_is_explained() {
	local out=$UNIV_STATE/siw.out
	modprobe -q siw || { echo "this kernel has no siw"; return 77; }
	ip link add siw-net type veth peer name siw-peer && ip link set siw-peer up && ip addr add 10.96.0.1/24 dev siw-net &&
		ip link set siw-net up && rdma link add siw0 type siw netdev siw-net &&
		wait_until 10 grep -qx siw0 /sys/class/univerbs/*/ibdev || return
	UNIVERBS_EXPLAIN=1 univ timeout $((20 * ${UNIV_SLOW:-1})) rping -c -C 1 -a 10.96.0.1 >"$out" 2>&1
	cat "$out"
	grep -q 'IBV_QP_PKEY_INDEX' "$out" || return
	rdma link del siw0 && ip link del siw-net
}
run_test "a queue pair of siw that the connection manager changes is explained" 60 siw_is_explained
run_test "univerbs is unloaded" 30 rmmod univerbs
