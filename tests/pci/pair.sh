#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Inside each of two guests that have the device of samples/pci: unmodified programs between two hosts on its fabric.
#   tests/vm/upci --pair -- tests/pci/pair.sh
# In one guest each server listens at a port of its own. One more program tells the servers' guest that the clients are
# done.

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

# serve PROGRAM PORT LOG: the server waits for its client for as long as it takes. tests/vm/pair ends this guest if the
# client's guest dies.
serve() {
	# shellcheck disable=SC2086 # words
	univ $1 -p "$2" >"$3" 2>&1
	echo $? >"$3.status"
}

served() {
	wait_until 10 test -s "$1.status" && [ "$(cat "$1.status")" = 0 ] && return
	echo "status $(cat "$1.status" 2>/dev/null || echo none, it still runs):"
	cat "$1"
	return 1
}

# serve_all: runs the servers until the clients are done, and reports each.
serve_all() {
	local i servers=()
	rm -f "$UNIV_LOGDIR"/server.*
	for i in "${!programs[@]}"; do
		serve "${programs[i]}" $((18600 + i)) "$UNIV_LOGDIR/server.$i" &
		servers+=($!)
	done
	serve "$done_program" $done_port "$UNIV_LOGDIR/server.done"
	for i in "${!programs[@]}"; do
		run_test "upci, two guests: the server of ${programs[i]}" 20 served "$UNIV_LOGDIR/server.$i"
	done
	kill "${servers[@]}" 2>/dev/null
}

# shellcheck disable=SC2086 # words
client() { univ timeout $((100 * ${UNIV_SLOW:-1})) $1 -p "$2" $server; }

# A client that comes before its server cannot connect, and is repeated. A client that only looked would take the one
# connection that the server accepts.
ask() { repeat_while 14 "[Cc]ouldn't connect" client "$@"; }

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
