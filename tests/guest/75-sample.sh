# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The driver that Documentation/driver.rst explains.
#
# needs: modules
# runs in: guest test-kernel-networks

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

# shellcheck disable=SC2119
load_univerbs || exit 1
sample_ko=$UNIV_REPO/samples/loop/univ_loop.ko
# On another kernel the modules are in another place.
[ "$UNIV_KO" = "$UNIV_REPO/kernel/core/univerbs.ko" ] || sample_ko=${UNIV_KO%/kernel/core/*}/samples/loop/univ_loop.ko

sample_loads() {
	insmod "$sample_ko" && [ -e /sys/class/infiniband/loop0 ] && wait_until 30 test -e /dev/infiniband/univerbs0 &&
		univ ibv_devinfo -d loop0 | grep -q PORT_ACTIVE
}

# loop_pair OPTION...: runs both ends of ibv_rc_pingpong, which compare the bytes that they receive.
loop_pair() {
	local server status
	univ timeout $((50 * ${UNIV_SLOW:-1})) ibv_rc_pingpong -d loop0 -c "$@" >"$UNIV_STATE/server.out" 2>&1 &
	server=$!
	wait_until 30 tcp_listens 18515 || { cat "$UNIV_STATE/server.out"; return 1; }
	univ timeout $((50 * ${UNIV_SLOW:-1})) ibv_rc_pingpong -d loop0 -c "$@" 127.0.0.1
	status=$?
	wait $server || { status=1; cat "$UNIV_STATE/server.out"; }
	return $status
}

# The device is removed below a program that waits for its peer.
sample_goes() {
	local program
	univ timeout $((50 * ${UNIV_SLOW:-1})) ibv_rc_pingpong -d loop0 -n 100000000 >"$UNIV_STATE/server.out" 2>&1 &
	wait_until 30 tcp_listens 18515 || return
	univ timeout $((50 * ${UNIV_SLOW:-1})) ibv_rc_pingpong -d loop0 -n 100000000 127.0.0.1 >"$UNIV_STATE/client.out" 2>&1 &
	program=$!
	sleep 1
	kill -0 $program || { cat "$UNIV_STATE/client.out"; return 1; }
	rmmod univ_loop && [ ! -e /sys/class/infiniband/loop0 ] || return
	wait_until 20 group_leader_gone $program || { echo "the program is stuck"; kill $program; return 1; }
	insmod "$sample_ko"
}

run_test "sample: the module loads" 30 sample_loads
run_test "sample: ibv_rc_pingpong" 60 loop_pair
run_test "sample: ibv_rc_pingpong with events, 64 KiB" 60 loop_pair -e -s 65536 -n 100
run_test "sample: ibv_rc_pingpong with few receives" 60 loop_pair -r 1 -s 100 -n 300
run_test "sample: the device is removed under traffic (adv07)" 60 sample_goes
run_test "sample: the module unloads" 30 rmmod univ_loop
