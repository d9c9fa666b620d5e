# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# A processor goes offline and online while messages are under way: no message is lost, and no process waits for work
# that was queued to that processor. Also, all processes are frozen, as for a suspend.
#
# needs: uroce two-processors
# runs in: test-kernel-processes

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

cpu=/sys/devices/system/cpu/cpu1/online
[ -w $cpu ] || skip "no processor can be taken away"

need_univerbs || exit 1
load_driver uroce || exit 1

# shellcheck source=tests/user/network.sh
. "$UNIV_REPO/tests/user/network.sh"

far_and_near || { fails "hotplug: two namespaces with a device each"; exit 1; }
echo 2 >/sys/module/univerbs/parameters/max_pollers
resources_mark

messages() { LOSSY_TIMEOUT=14 LOSSY_MESSAGES=1500 program lossy sends writes reads atomics; }

# hotplug NEAR FAR COMMAND...: takes the processor offline and online while COMMAND sends from one device to the other,
# each time as soon as $ready succeeds. COMMAND is repeated if that happened less than twice.
ready=true
hotplug() {
	local -x UNIV_TEST_DEVICE=$1 UNIV_TEST_PEER=$2
	local traffic again times=0
	shift 2
	for again in 0 1 2 3; do
		"$@" &
		traffic=$!
		until group_leader_gone $traffic; do
			$ready || { pause 0.05; continue; }
			if ! echo 0 >$cpu || ! pause 0.05 || ! echo 1 >$cpu; then
				kill $traffic
				return 1
			fi
			pause 0.05
			times=$((times + 1))
		done
		echo "$times times"
		wait $traffic || return
		[ $times -le 1 ] || { repeated $again "the processor went too seldom"; return 0; }
	done
	return 1
}

polled() { UNIVERBS_POLL=50 messages; }

# A process that opens a device while it may use one processor alone gets no poller, so wait until it has one.
pollers() { grep -qs '^univ-poll' /proc/[0-9]*/comm; }

# The processor that goes offline is the only one that the poller may run on.
pollers_pinned() {
	local comm threads status=1
	mapfile -t threads < <(grep -ls '^univ-poll' /proc/[0-9]*/comm)
	for comm in ${threads[@]+"${threads[@]}"}; do
		taskset -p -c 1 "${comm//[!0-9]/}" >/dev/null 2>&1 && status=0
	done
	return $status
}

run_test "hotplug: by copying" 200 hotplug w-near w-near messages
run_test "hotplug: by packets" 200 hotplug w-near w-far messages
run_test "hotplug: rxe0" 200 hotplug rxe0 rxe0 messages
ready=pollers
run_test "hotplug: with a poller" 200 hotplug w-near w-far polled
ready=pollers_pinned
run_test "hotplug: with a poller on that processor" 200 hotplug w-near w-far polled
# A suspend first freezes all processes, in whatever system call they are. With pm_test set to "freezer" the kernel
# stops there and thaws them after some seconds.
freeze() { echo freezer >/sys/power/pm_test && echo freeze >/sys/power/state; }

frozen() {
	local -x UNIV_TEST_DEVICE=w-near UNIV_TEST_PEER=w-far
	local traffic
	grep -qs freezer /sys/power/pm_test || { echo "this kernel does not test suspending"; return 77; }
	echo 1 >/sys/module/suspend/parameters/pm_test_delay
	"$@" &
	traffic=$!
	for _ in 1 2 3; do
		pause 0.5
		freeze || { kill $traffic; return 1; }
	done
	dmesg | tail -n 40 | grep 'Freezing user space processes'
	echo none >/sys/power/pm_test
	wait $traffic
}

run_test "hotplug: processes are frozen, as for a suspend" 300 frozen messages
run_test "hotplug: processes and a poller are frozen" 300 frozen polled
run_test "hotplug: nothing is left behind" 20 resources_unchanged
echo 0 >/sys/module/univerbs/parameters/max_pollers
run_test "hotplug: both devices are removed" 20 far_gone
# rxe0 may be an uroce device as well.
remove_device rxe0
run_test "hotplug: the modules unload" 30 rmmod uroce
