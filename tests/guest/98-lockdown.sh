# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# A kernel in lockdown, as with Secure Boot: it loads no unsigned module and refuses debugfs, and all that users need
# works. The modules are loaded before, since the guest's kernel knows no key that could sign them. Nothing ends a
# lockdown, so the script is the last one.
#
# needs: lockdown
# runs in: guest

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

use_link uroce && need_univerbs && modprobe veth || exit 1
mountpoint -q /sys/kernel/security || mount -t securityfs none /sys/kernel/security || exit 1
mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug || exit 1
mountpoint -q /sys/kernel/tracing || mount -t tracefs none /sys/kernel/tracing || exit 1
lockdown=/sys/kernel/security/lockdown
fault_tool() { "$UNIV_LIBDIR/uroce-fault" "$@"; }

# Files of debugfs can be read before, so the test below shows the lockdown and nothing else.
locks_down() {
	[ -e $lockdown ] || skip "this kernel has no lockdown"
	cat /sys/kernel/debug/uroce/rxe0/drop_ppm && echo integrity >$lockdown && grep -F '[integrity]' $lockdown
}

# refused COMMAND...: COMMAND fails with EPERM
refused() {
	local said
	said=$("$@" 2>&1) && { echo "$* succeeded"; return 1; }
	grep -q 'Operation not permitted' <<<"$said" || { echo "$said"; return 1; }
}

modules_refused() { refused insmod "$UNIV_REPO/samples/loop/univ_loop.ko"; }
debugfs_refused() { refused cat /sys/kernel/debug/uroce/rxe0/drop_ppm; }

devices() {
	ip link add ld0 mtu 4200 type veth peer name ld0-peer && ip addr add 10.77.92.1/24 dev ld0 && ip link set ld0 up &&
		rdma link add ld1 type uroce netdev ld0 && rdma link show ld1/1 && rdma link del ld1 && ip link del ld0
}

faults() {
	fault_tool set rxe0 delay 5 mirror 1 && fault_tool show rxe0 | grep ' delay 5 .* mirror 1' &&
		fault_tool clear rxe0 && fault_tool set rxe0 mirror 0 && ! fault_tool show rxe0 | grep -v ' delay 0 ' &&
		! fault_tool show rxe0 | grep mirror
}

counters() {
	local before
	before=$(hw_counter rxe0 local_msgs) && program api_rc && [ "$(hw_counter rxe0 local_msgs)" -gt "$before" ] &&
		rdma statistic show link rxe0/1 | grep -q local_msgs
}

parameters() {
	local parameter=/sys/module/uroce/parameters/local
	echo 0 >$parameter && program api_rc && echo 1 >$parameter
}

reasons() { UNIVERBS_EXPLAIN=1 program mistakes_calls; }

traced() {
	local dir=/sys/kernel/tracing
	echo 1 >$dir/events/uroce/enable && program tutorial && echo 0 >$dir/events/uroce/enable &&
		grep -q 'uroce_qp_create: dev=rxe0' $dir/trace
}

run_test "lockdown: it begins" 20 locks_down
grep -qF '[integrity]' $lockdown || return 77
run_test "lockdown: an unsigned module is refused" 20 modules_refused
run_test "lockdown: the files in debugfs are refused" 20 debugfs_refused
run_test "lockdown: programs use the device" 60 program tutorial
run_test "lockdown: devices are made and removed" 30 devices
run_test "lockdown: uroce-fault works" 30 faults
run_test "lockdown: the counters can be read" 60 counters
run_test "lockdown: parameters of the modules can be set" 60 parameters
run_test "lockdown: errors are explained" 120 reasons
run_test "lockdown: tracepoints work" 60 traced
