# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The software HCA: as a device, and over its own rings. Other scripts run over it too with UNIV_LINK=uroce, and
# third-party programs run over it in tests/programs.
#
# needs: uroce
# runs in: guest coverage-uroce coverage-library test-kernel-networks

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

load_driver uroce || exit 1

# hca NAME N: creates an uroce device NAME at 10.88.N.1.
hca() {
	[ ! -e "/sys/class/infiniband/$1" ] || return 0
	ip link add "$1-net" mtu 4200 type veth peer name "$1-peer" mtu 4200 &&
		ip link set "$1-peer" addrgenmode none up &&
		ip addr add "10.88.$2.1/24" dev "$1-net" &&
		ip link set "$1-net" up &&
		rdma link add "$1" type uroce netdev "$1-net" &&
		wait_until 30 gid_ready "$1"
}

hca u0 0 || exit 1
export UNIV_TEST_DEVICE=u0
resources_mark

# pair SECONDS PORT COMMAND...: runs COMMAND as a server and as its client.
pair() {
	local limit=$1 port=$2 server status
	shift 2
	univ timeout "$limit" "$@" >"$UNIV_STATE/server.out" 2>&1 &
	server=$!
	wait_until 30 tcp_listens "$port" || { cat "$UNIV_STATE/server.out"; return 1; }
	univ timeout "$limit" "$@" "${peer:-10.88.0.1}"
	status=$?
	wait $server || { status=1; cat "$UNIV_STATE/server.out"; }
	return $status
}

over_lo() {
	{ [ -e /sys/class/infiniband/u-lo ] || rdma link add u-lo type uroce netdev lo; } &&
		wait_until 30 test -e /sys/class/infiniband/u-lo/ports/1/gid_attrs/types/1 &&
		univ ibv_devinfo -d u-lo | grep -q PORT_ACTIVE &&
		peer=127.0.0.1 pair 50 18515 ib_write_bw -d u-lo -s 65536 -n 500 &&
		rdma link del u-lo
}

# An administrator can restrict the processors of both work queues.
queues_shown() { ls /sys/devices/virtual/workqueue/uroce{,-odp}/cpumask; }

# The time of the kernel's work items is charged to no process, so only some of them may run at a time.
few_work_items() { grep -x "$((($(nproc) + 1) / 2))" /sys/devices/virtual/workqueue/uroce/max_active; }

# A second device on the same netdev is refused, and removing the netdev removes its device.
netdev_goes() {
	! rdma link add u1 type uroce netdev u0-net 2>/dev/null || return
	hca u1 1 && ip link del u1-net && wait_until 20 test ! -e /sys/class/infiniband/u1
}

namespace_goes() {
	ip netns add away && ip -n away link add gone type dummy && ip -n away link set gone up || return
	ip netns exec away rdma link add u2 type uroce netdev gone || return
	test -e /sys/class/infiniband/u2 || return
	ip netns del away
	wait_until 20 test ! -e /sys/class/infiniband/u2
}

has_traffic() { [ "$(hw_counter "$1" local_msgs)" -gt 100 ]; }

# unlinked_under_traffic: when the device is removed, a program that is sending ends with an error and does not hang.
unlinked_under_traffic() {
	local server client
	hca u3 3 || return
	univ timeout 60 ib_write_bw -d u3 -x 1 -s 4096 -D 30 >/dev/null 2>&1 &
	server=$!
	wait_until 30 tcp_listens 18515 || return
	univ timeout 60 ib_write_bw -d u3 -x 1 -s 4096 -D 30 10.88.3.1 >/dev/null 2>&1 &
	client=$!
	wait_until 20 has_traffic u3 || { echo "there is no traffic"; return 1; }
	rdma link del u3 || return
	wait_until 15 group_leader_gone $client && wait_until 15 group_leader_gone $server ||
		{ echo "a program is stuck"; kill -KILL $client $server; return 1; }
	! wait $client || { echo "the client noticed nothing"; return 1; }
	[ ! -e /sys/class/infiniband/u3 ] && ip link del u3-net
}

# qp_memory REQUESTS BYTES
qp_memory() {
	[ -z "${UNIV_SLOW:-}" ] || skip "a kernel that watches its memory takes more of it"
	program footprint "$1" "$2"
}

# The same for queue pairs that use packets.
wire_memory() {
	local status
	echo 0 >/sys/module/uroce/parameters/local
	# A subshell, because qp_memory exits when it skips.
	(qp_memory "$@")
	status=$?
	echo 1 >/sys/module/uroce/parameters/local
	return $status
}

run_test "uroce: half of the processors for work items" 10 few_work_items
run_test "uroce: the processors of work items can be chosen" 10 queues_shown
run_test "uroce works on lo" 120 over_lo
run_test "uroce: a netdev has one device, which is removed with it (adv07)" 30 netdev_goes
# The flags are IBV_PORT_CM_SUP and IBV_PORT_IP_BASED_GIDS.
port_flags() { univ ibv_devinfo -v -d u0 | grep 'port_cap_flags:.*0x04010000'; }
run_test "uroce: flags of the port" 20 port_flags
run_test "uroce: a namespace ends (adv25)" 30 namespace_goes
run_test "uroce: memory of a queue pair of 64 requests" 60 qp_memory 64 24576
run_test "uroce: memory of a queue pair of 16 requests" 60 qp_memory 16 7168
run_test "uroce: memory of a queue pair of 64 requests that uses packets" 120 wire_memory 64 24576
run_test "uroce: memory of a queue pair of 16 requests that uses packets" 120 wire_memory 16 12288
user_test tutorial 30
user_test api_device 120
user_test api_channel 200
user_test api_cq 200
user_test api_cq_ex 120
user_test one_cpu 60
user_test api_qp 200
user_test api_qp_ex 120
user_test api_rc 300
user_test many 200 queue_pairs
user_test api_ud 120
user_test neighbours 60
user_test softirq 120
user_test api_srq 120
user_test srq_resize 200
user_test qp_resize 200
user_test rings_shared 200
user_test rss 120
user_test rss_qp 120
user_test wq_flags 100
user_test wq_delay 200
user_test api_event 120
user_test api_cntr 150
user_test api_rereg 60
# Most cases of dma_handles and memory return at once over rdma_rxe, where 10-use.sh runs these programs in make check.
user_test api_newer 100
user_test dma_handles 100
user_test domains 150
user_test import 120
user_test memory 200
user_test api_states 60
user_test armed_late 60
# Datagrams are copied, with the header that a packet would have had.
within_host() { UNIV_TEST_PEER=u0 program datagrams both_ways source_number; }
run_test "uroce: datagrams within a host, and the headers that they show" 60 within_host
# No cable joins the two devices, so the neighbour is entered by hand, and only copies arrive.
other_device() {
	local status
	hca u4 4 && ip neigh add 10.88.4.1 lladdr "$(cat /sys/class/net/u4-net/address)" dev u0-net nud permanent || return
	UNIV_TEST_PEER=u4 program datagrams other_device
	status=$?
	ip neigh del 10.88.4.1 dev u0-net && rdma link del u4 && ip link del u4-net && return $status
}
run_test "uroce: a datagram within a host does not reach a device that it is not sent to" 60 other_device
user_test atomic_write 100
user_test xrc_ops 40
user_test xrc_late 40
user_test odp 300
user_test odp_advice 100
user_test odp_traffic 300
user_test odp_rereg 300
user_test flush 100
user_test extend 200
user_test queries 100
user_test modify_ah 100
user_test share 200
user_test pin_cache 200
user_test pin_limits 200
user_test dmabuf 300
user_test pacing 400
run_test "uroce: rdma link del under traffic (adv07)" 90 unlinked_under_traffic
run_test "uroce: nothing is left behind" 20 resources_unchanged
# Unloading removes the device; later scripts count the users of univerbs.
run_test "uroce: the modules unload" 30 rmmod uroce
ip link del u0-net
