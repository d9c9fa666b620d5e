# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The device with doorbells that Documentation/driver.rst explains. The guest has it from tests/vm/upci.

# shellcheck source=tests/pci/device.sh
. "$UNIV_REPO/tests/pci/device.sh"

# both PROGRAM OPTION...: runs server and client of an unmodified program.
both() {
	local server status
	univ timeout $((100 * ${UNIV_SLOW:-1})) "$@" >"$UNIV_STATE/server.out" 2>&1 &
	server=$!
	wait_until 20 tcp_listens 18515 || { cat "$UNIV_STATE/server.out"; return 1; }
	univ timeout $((100 * ${UNIV_SLOW:-1})) "$@" 127.0.0.1
	status=$?
	wait $server || { status=1; cat "$UNIV_STATE/server.out"; }
	return $status
}

# pingpong KIND OPTION..., perf NAME OPTION...
pingpong() { both "ibv_$1_pingpong" -d upci0 "${@:2}"; }
perf() { both "ib_$1" -d upci0 -F "${@:2}"; }

# The kernel takes the device from the driver, and finds it again when it scans the bus.
pci_device() { readlink -f /sys/class/infiniband/upci0/device; }
taken_from_bus() {
	local device
	device=$(pci_device) || return
	program unplug "echo 1 >$device/remove" && [ ! -e "$device" ] && echo 1 >/sys/bus/pci/rescan && upci_works
}

run_test "upci: loads" 60 upci_loads
run_test "upci: ibv_rc_pingpong" 120 pingpong rc -c -n 100
run_test "upci: ibv_rc_pingpong with events, 64 KiB" 120 pingpong rc -c -e -s 65536 -n 20
run_test "upci: ibv_ud_pingpong" 120 pingpong ud -c -n 50 -s 1024
run_test "upci: ibv_srq_pingpong" 120 pingpong srq -c -n 50
user_test bells 120
run_test "upci: ib_write_bw" 120 perf write_bw -n 100 -s 65536
run_test "upci: ib_read_lat" 120 perf read_lat -n 50
run_test "upci: ib_read_bw with events" 120 perf read_bw -n 100 -s 4096 -e
run_test "upci: ib_send_lat" 120 perf send_lat -n 50
run_test "upci: ib_send_lat with events" 120 perf send_lat -n 50 -e
run_test "upci: ib_atomic_lat" 120 perf atomic_lat -n 50
run_test "upci: ib_atomic_bw with events" 120 perf atomic_bw -n 50 -e
UNIV_LINK=upci user_test ring_lies 120
run_test "upci: bells after the driver has gone" 120 program bells gone 'rmmod univ_upci'
run_test "upci: loads again" 60 upci_loads
run_test "upci: taken from its bus under traffic (adv07)" 200 taken_from_bus
run_test "upci: unloaded" 30 rmmod univ_upci
