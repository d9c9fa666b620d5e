# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Reliable datagrams (RDS) over uroce, between sockets of this host over one device. A process registers memory with
# its socket, and another one writes to it and reads from it. Then the device is removed under traffic.
#
# needs: uroce
# runs in: kernel-users

modinfo -k "$(uname -r)" rds_rdma >/dev/null 2>&1 || skip "this kernel has no rds_rdma"
# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"
UNIV_LINK=uroce setup_device n0 && modprobe rds_rdma || exit 1
address=10.77.$(link_number n0).1

rds() { python3 "$UNIV_REPO/tests/programs/rds.py" "$@"; }

bytes_sent() { echo $(($(hw_counter n0 sent_bytes) + $(hw_counter n0 local_bytes))); }

# over_device COMMAND...: runs it, and sees that the device has sent what it had to.
over_device() {
	local before sent least=$1
	shift
	before=$(bytes_sent)
	"$@" || return
	sent=$(($(bytes_sent) - before))
	echo "the device has sent $sent bytes"
	[ $sent -ge "$least" ]
}

holds() { grep -q message "$UNIV_STATE/hold"; }

device_goes() {
	local holder
	rds hold "$address" >"$UNIV_STATE/hold" 2>&1 &
	holder=$!
	wait_until 30 holds && rdma link del n0 && wait_until 20 test ! -e /sys/class/infiniband/n0 &&
		wait_until 60 group_leader_gone $holder
	set -- $?
	tail -n 1 "$UNIV_STATE/hold"
	return "$1"
}

unload() { modprobe -r rds_rdma; }

run_test "rds over uroce: messages" 120 over_device 1000000 rds messages "$address" 400
for size in 1000 100000 1000000; do
	run_test "rds over uroce: memory of $size bytes" 60 over_device $size rds remote "$address" $size
done
run_test "rds over uroce: the device is removed (adv07)" 120 device_goes
run_test "rds over uroce: the modules unload" 60 unload
ip link del n0-net
rmmod uroce
