#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Inside each of two guests that have the device of samples/pci: unmodified programs between two hosts on its fabric.
#   tests/vm/upci --pair -- tests/pci/pair.sh
# The servers run one after another in one guest, each at a port of its own, and the clients in the other.

set -u
UNIV_REPO=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/vm/lib.sh
. "$UNIV_REPO/tests/vm/lib.sh"

server=10.78.0.1
programs=(
	'ibv_rc_pingpong -d upci0 -c -n 200'
	'ibv_rc_pingpong -d upci0 -c -e -s 65536 -n 50'
	'ibv_ud_pingpong -d upci0 -c -n 100'
	'ib_write_bw -d upci0 -F -n 200 -s 65536'
	'ib_read_bw -d upci0 -F -n 100 -s 65536'
	'ib_send_lat -d upci0 -F -n 100 -e'
	'ib_atomic_lat -d upci0 -F -n 100'
)

set_up() {
	modprobe virtio_net && wait_until 20 test -e /sys/class/net/eth0 || return
	ip addr add "$([ "$ROLE" = server ] && echo $server || echo 10.78.0.2)/24" dev eth0 && ip link set eth0 up &&
		load_univerbs && insmod "$UNIV_REPO/samples/pci/univ_upci.ko" &&
		wait_until 20 test -e /dev/infiniband/univerbs0
}

# shellcheck disable=SC2086 # words
serve() { univ timeout $((300 * ${UNIV_SLOW:-1})) $1 -p "$2"; }

# The server's guest may not have come so far.
ask() {
	local i
	for ((i = 0; i < 300; i++)); do
		# shellcheck disable=SC2086 # words
		! univ timeout $((100 * ${UNIV_SLOW:-1})) $1 -p "$2" $server || return 0
		sleep 1
	done
	return 1
}

run_test "upci, $ROLE: set up" 120 set_up
for i in "${!programs[@]}"; do
	if [ "$ROLE" = server ]; then
		serve "${programs[i]}" $((18600 + i)) >"$UNIV_LOGDIR/server.$i" 2>&1 || echo "server $i ended with $?"
	else
		run_test "upci, two guests: ${programs[i]}" 400 ask "${programs[i]}" $((18600 + i))
	fi
done
finish_tests
