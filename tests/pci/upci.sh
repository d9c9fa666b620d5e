# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The device with doorbells that Documentation/driver.rst explains. The guest has it from tests/vm/upci.

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

# shellcheck disable=SC2119
load_univerbs || exit 1
sample_ko=$UNIV_REPO/samples/pci/univ_upci.ko
# On another kernel the modules are in another place.
[ "$UNIV_KO" = "$UNIV_REPO/kernel/core/univerbs.ko" ] || sample_ko=${UNIV_KO%/kernel/core/*}/samples/pci/univ_upci.ko
export UNIV_TEST_DEVICE=upci0

upci_gone() { [ ! -e /sys/class/infiniband/upci0 ]; }

upci_loads() {
	insmod "$sample_ko" && wait_until 20 test -e /dev/infiniband/univerbs0 &&
		univ ibv_devinfo -d upci0 | grep -q PORT_ACTIVE
}

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

# qemu_pulls: the command that pulls the device out, and waits until the guest has let it go.
cat >"$UNIV_STATE/pull" <<-'PULL'
	#!/bin/bash
	touch "$UNIV_LOGDIR/unplug"
	for ((i = 0; i < 600; i++)); do
		[ -e /sys/class/infiniband/upci0 ] || exit 0
		sleep 0.2
	done
	exit 1
PULL
chmod +x "$UNIV_STATE/pull"

run_test "upci: loads" 60 upci_loads
run_test "upci: ibv_rc_pingpong" 120 pingpong rc -c -n 100
run_test "upci: ibv_rc_pingpong with events, 64 KiB" 120 pingpong rc -c -e -s 65536 -n 20
run_test "upci: ibv_ud_pingpong" 120 pingpong ud -c -n 50 -s 1024
run_test "upci: ibv_srq_pingpong" 120 pingpong srq -c -n 50
user_test bells 120
run_test "upci: ib_write_bw" 120 perf write_bw -n 100 -s 65536
run_test "upci: ib_read_lat" 120 perf read_lat -n 50
run_test "upci: ib_send_lat with events" 120 perf send_lat -n 50 -e
run_test "upci: ib_atomic_lat" 120 perf atomic_lat -n 50
user_test ring_lies 120
run_test "upci: bells after the driver has gone" 120 program bells gone 'rmmod univ_upci'
run_test "upci: loads again" 60 upci_loads
run_test "upci: pulled out of QEMU under traffic (adv07)" 200 program unplug "$UNIV_STATE/pull"
run_test "upci: unloaded" 30 rmmod univ_upci
