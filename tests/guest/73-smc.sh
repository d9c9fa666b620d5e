# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# TCP programs over shared memory (SMC-R) over uroce, between two namespaces with a device each. SMC writes into the peer's
# buffers, of which each connection has one, and all connections share one queue pair of either side. Then a device is removed
# under a connection.
#
# needs: uroce
# runs in: kernel-users

modinfo -k "$(uname -r)" smc >/dev/null 2>&1 || skip "this kernel has no smc"
# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"
# shellcheck source=tests/user/network.sh
. "$UNIV_REPO/tests/user/network.sh"
need_far_and_near || exit 1

port=7000

smc() { python3 "$UNIV_REPO/tests/programs/smc.py" "$@"; }

# Devices of RoCE v2 are for version 2 of SMC, which a host offers only if it has a name for those that it shares memory with.
smc_starts() { modprobe smc && smc name UNIVERBS; }

listens() { [ -n "$(ip netns exec w-far ss -Hltn "sport = :$port")" ]; }

start_server() {
	ip netns exec w-far python3 "$UNIV_REPO/tests/programs/smc.py" server 10.89.0.2 $port &
	server=$!
	wait_until 30 listens
}

# The bytes that the device has sent, to another one of this host or not
bytes_sent() { echo $(($(hw_counter w-near sent_bytes) + $(hw_counter w-near local_bytes))); }

# same_bytes CONNECTIONS BYTES: each connection sends so many bytes to a server that sends them back. With a fallback to TCP the
# device would have sent nothing.
same_bytes() {
	local status before sent
	start_server || return
	before=$(bytes_sent)
	smc client 10.89.0.2 $port "$1" "$2"
	status=$?
	kill "$server"
	sent=$(($(bytes_sent) - before))
	echo "the device has sent $sent bytes"
	[ $status -eq 0 ] && [ $sent -ge $(($1 * $2)) ]
}

# Each connection that was closed leaves its buffers to the next one, and the queue pair waits for it. Both go with the module.
smc_ends() { modprobe -r smc && wait_until 20 same_resources; }

holds() { grep -q connected "$UNIV_STATE/hold"; }

# The device is removed under a connection, which breaks on both sides. Nothing may hang.
device_goes() {
	local holder
	# The old port waits for late segments.
	port=7001
	modprobe smc && smc name UNIVERBS && start_server || return
	smc hold 10.89.0.2 $port >"$UNIV_STATE/hold" 2>&1 &
	holder=$!
	wait_until 30 holds && pause 1 && rdma resource show qp link w-near | grep 'type RC state RTS' && rdma link del w-near &&
		wait_until 20 test ! -e /sys/class/infiniband/w-near && wait_until 60 group_leader_gone $holder
	set -- $?
	cat "$UNIV_STATE/hold"
	kill "$server"
	return "$1"
}

run_test "smc over uroce: starts" 60 smc_starts
run_test "smc over uroce: one connection" 60 same_bytes 1 1000000
run_test "smc over uroce: 40 connections" 240 same_bytes 40 300000
run_test "smc over uroce: ends" 60 smc_ends
run_test "smc over uroce: the device is removed (adv07)" 120 device_goes
# A socket that was closed is kept for a while.
run_test "smc over uroce: the module unloads" 60 wait_until 40 modprobe -qr smc
ip link del w-near
ip netns del w-near
ip netns del w-far
rmmod uroce
