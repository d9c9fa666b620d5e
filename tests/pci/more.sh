# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# More programs over the device of samples/pci, in one guest: rdma-core's own tests, datagrams of perftest, and processes
# that overrun a completion queue or write rubbish over all rings.

# shellcheck source=tests/pci/device.sh
. "$UNIV_REPO/tests/pci/device.sh"
upci_loads || exit 1
export DEVICE=upci0 UNIV_LINK=upci
# This runs no test of the suites, which need a network device.
# shellcheck source=tests/programs/suites.sh
. "$UNIV_REPO/tests/programs/suites.sh"

# datagrams PROGRAM OPTION...: a datagram that finds no receive is lost, so there are fewer than the queue is deep.
datagrams() {
	next_port
	pair tcp "$port" "$1" -d upci0 -F -c UD -p "$port" "${@:2}" -- "$1" -d upci0 -F -c UD -p "$port" "${@:2}" "$SERVER"
}

SERVER=127.0.0.1
run_test "upci: ib_send_bw -c UD" 120 datagrams ib_send_bw -s 2048 -n 200
run_test "upci: ib_send_lat -c UD" 120 datagrams ib_send_lat -s 64 -n 100
run_test "upci: ib_send_lat -c UD with events" 120 datagrams ib_send_lat -s 4056 -n 50 -e
user_test cq_overrun 120
user_test ringabuse 200
run_test "upci: rdma-core's tests" 500 rdma_core '^tests\.test_(?!mlx5|efa|rdmacm|cuda|odp)'
run_test "upci: unloaded" 30 rmmod univ_upci
