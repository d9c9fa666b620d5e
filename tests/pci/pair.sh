#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Inside each of two guests that have the device of samples/pci: unmodified programs between two hosts on its fabric.
#   tests/vm/upci --pair -- tests/pci/pair.sh
# In one guest each server listens at a port of its own, again and again, so that a client can be repeated. One more
# program tells the servers' guest that the clients are done.

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

done_port=18650 done_program='ibv_rc_pingpong -d upci0 -n 10'

# shellcheck disable=SC2086 # words
serve() { univ timeout $((100 * ${UNIV_SLOW:-1})) $1 -p "$2"; }

serve_again() {
	while :; do
		serve "$@" || echo "the server ended with $?"
		sleep 0.5
	done
}

# serve_all: returns when the clients are done. tests/vm/pair ends this guest if the client's guest dies.
serve_all() {
	local i servers=()
	for i in "${!programs[@]}"; do
		serve_again "${programs[i]}" $((18600 + i)) >"$UNIV_LOGDIR/server.$i" 2>&1 &
		servers+=($!)
	done
	until serve "$done_program" $done_port >"$UNIV_LOGDIR/server.done" 2>&1; do
		sleep 0.5
	done
	kill "${servers[@]}"
}

# A client that comes before its server cannot connect, and is repeated. No other failure is forgiven.
ask() {
	local out end=$((SECONDS + 300 * ${UNIV_SLOW:-1}))
	while [ $SECONDS -lt $end ]; do
		# shellcheck disable=SC2086 # words
		out=$(univ timeout $((100 * ${UNIV_SLOW:-1})) $1 -p "$2" $server 2>&1) && return
		grep -qi "couldn't connect" <<<"$out" || break
		sleep 1
	done
	echo "$out"
	return 1
}

run_test "upci, $ROLE: set up" 120 set_up
if [ "$ROLE" = server ]; then
	serve_all
else
	for i in "${!programs[@]}"; do
		run_test "upci, two guests: ${programs[i]}" 450 ask "${programs[i]}" $((18600 + i))
	done
	run_test "upci, two guests: the servers end" 450 ask "$done_program" $done_port
fi
finish_tests
