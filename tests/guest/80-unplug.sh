# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Devices are removed while they are used. Each test has a device of its own; the last tests remove rxe0 and the driver.
#
# needs: device
# runs in: guest-uroce test-kernel-rxe coverage-core coverage-core-uroce coverage-uroce coverage-library
# runs in: coverage-library-uroce
# runs in: rt-kernel test-kernel-memory-uroce

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

need_univerbs || exit 1

# gone NAME COMMAND [CASE]: COMMAND removes the device NAME below a program that uses it, or at the moment of CASE.
gone() {
	local name=unplug
	[ $# -eq 2 ] || name=unplug_late
	setup_device "$1" || return 1
	wait_until 30 test_device_listed "$1" || { echo "$1 is not listed"; return 1; }
	UNIV_TEST_DEVICE=$1 program "$name" "${@:2}" || return 1
	# A namespace is destroyed asynchronously.
	wait_until 30 test_device_gone "$1" || { echo "$1 is still there"; return 1; }
	ip link del "$1-net" 2>/dev/null
	return 0
}

test_device_listed() { univ ibv_devices | grep -qw "$1"; }
test_device_gone() { [ ! -e "/sys/class/infiniband/$1" ]; }

# port NAME: runs a program that changes the state of its own port.
port() {
	setup_device rxe9 || return 1
	UNIV_TEST_DEVICE=rxe9 program "$1" || return 1
	remove_device rxe9
}

nodes() { find /dev/infiniband -name 'univerbs*' | sort | tr '\n' ' '; }

# Each device has a node, and there is no other node.
node_comes_and_goes() {
	local before with
	before=$(nodes)
	setup_device rxe7 || return 1
	wait_until 30 test_device_listed rxe7
	with=$(nodes)
	[ "$with" != "$before" ] || { echo "no node for a second device: $with"; return 1; }
	grep -qx rxe7 /sys/class/univerbs/*/ibdev || { echo "no node says that it is rxe7's"; return 1; }
	remove_device rxe7 || return 1
	[ "$(nodes)" = "$before" ] || { echo "expected $before, got $(nodes)"; return 1; }
}

# rmmod of univerbs while a program has all objects open: it must not wait for the program.
module_in_use() {
	local refs drivers
	refs=$(cat /sys/module/univerbs/refcnt)
	drivers=$(find /sys/module/univerbs/holders -type l | wc -l)
	if [ "$refs" != "$drivers" ]; then
		echo "refcount $refs with $drivers drivers and no program"
		return 1
	fi
	hold_open || return 1
	if rmmod univerbs 2>/dev/null; then
		echo "univerbs was unloaded below an open context"
		return 1
	fi
	hold_close
}

hold_open() {
	rm -f "$UNIV_STATE/hold.in"
	mkfifo "$UNIV_STATE/hold.in"
	program hold <"$UNIV_STATE/hold.in" >"$UNIV_STATE/hold.out" 2>&1 &
	exec {hold_fd}>"$UNIV_STATE/hold.in"
	wait_until 15 grep -q holding "$UNIV_STATE/hold.out"
}

hold_close() { exec {hold_fd}>&-; wait; }

# Load and unload the module twice.
load_unload() {
	local i
	for ((i = 0; i < 2; i++)); do
		unload_univerbs || return 1
		need_univerbs || return 1
		still_works || return 1
	done
}

run_test "port events (adv26)" 60 port port_events
run_test "port changes under traffic (adv26)" 90 port port_changes
run_test "nodes are created and removed with their devices" 40 node_comes_and_goes
run_test "rdma link del under traffic (adv07)" 90 gone rxe8 "rdma link del rxe8"
for moment in send recv batch; do
	run_test "rdma link del before a kick, $moment (adv07)" 60 gone rxe8 "rdma link del rxe8" $moment
done
run_test "rdma link del before events are acknowledged (adv07)" 60 gone rxe8 "rdma link del rxe8" events
run_test "rdma link del while calls wait for a lock (adv07)" 60 gone rxe8 "rdma link del rxe8" line
run_test "rdma link del while calls of many contexts wait for a neighbour (adv07)" 90 gone rxe8 "rdma link del rxe8" contexts
if [ "$UNIV_LINK" = uroce ]; then
	for memory in paging pins; do
		run_test "rdma link del while page tables change, $memory (adv07)" 90 \
			gone rxe8 "rdma link del rxe8" $memory
	done
fi
run_test "a driver's ENODEV does not count as a removed device (adv07)" 60 gone rxe8 "rdma link del rxe8" refused
run_test "the net device is deleted under traffic (adv07)" 90 gone rxe8 "ip link del rxe8-net; sleep 1"
# An rxe or uroce device belongs to a namespace, so it is removed when its net device leaves.
run_test "the net device moves to a namespace that ends (adv25)" 90 \
	gone rxe8 "ip netns add away && ip link set rxe8-net netns away && ip netns del away; sleep 1"
run_test "rxe0 is not affected" 20 still_works
run_test "a module that is in use cannot be unloaded" 40 module_in_use
run_test "the module can be unloaded and loaded" 90 load_unload

run_test "rmmod of the driver under traffic (adv07)" 90 gone rxe8 "rmmod $link_module"
# rxe0 was removed with its driver.
ip link del rxe0-net 2>/dev/null
run_test "the module can be unloaded afterwards" 20 unload_univerbs
need_univerbs
run_test "programs work again" 40 still_works
