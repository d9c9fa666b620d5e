# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Programs over the stock librdmacm.

# shellcheck source=lib.sh
. "$UNIV_REPO/tests/programs/lib.sh"

# rping ADDRESS SIZE COUNT [OPTION...]: validates the received data (-V).
rping_pair() {
	local address=$1 size=$2 pings=$3 port
	shift 3
	next_port
	pair cm "$port" rping -s -v -a "$address" -p "$port" -C "$pings" -S "$size" "$@" -- \
		rping -c -v -V -a "$address" -p "$port" -C "$pings" -S "$size" "$@" || return
	expect "ping data: rdma-ping-$((pings - 1)):" "$client_out"
}

cm_pair() {
	local program=$1 port=$2
	shift 2
	pair cm "$port" "$program" -b "$SERVER" -p "$port" "$@" -- "$program" -s "$SERVER" -p "$port" "$@" || return
	expect "return status 0" "$client_out" "$server_out"
}

ucmatose_pair() { next_port; cm_pair ucmatose "$port" "$@"; }

# udaddy cannot choose its port, because its -p is the port space.
udaddy_pair() {
	pair cm 7174 udaddy -b "$SERVER" "$@" -- udaddy -s "$SERVER" "$@" || return
	expect "return status 0" "$client_out" "$server_out"
}

# rdma_rxe loses datagrams to a group on most kernels from 6.12 on, over the stock stack too.
group_is_deaf() { [ "$UNIV_LINK" = rxe ] && printf '%s\n' 6.12 "$(uname -r)" | sort -VC; }
# Both sides bind to their own address and join the group; the sender starts when the receiver waits for data.
mckey_pair() {
	! group_is_deaf || skip "rdma_rxe of this kernel loses datagrams to groups"
	pair says "receiving data transfers" mckey -b "$SERVER" -m 239.1.1.1 -C 20 -S 1000 -- \
		mckey -b "$CLIENT" -m 239.1.1.1 -C 20 -S 1000 -s "$@" || return
	expect "return status 0" "$client_out" "$server_out"
}

# rsockets: streams over RDMA writes with immediate data.
stream_pair() {
	local program=$1 port
	shift
	next_port
	pair cm "$port" "$program" -p "$port" "$@" -- "$program" -s "$SERVER" -p "$port" "$@" || return
	expect "^custom .*[0-9]$" "$client_out"
}

rdma_server_pair() {
	next_port
	pair cm "$port" rdma_server -p "$port" -- rdma_client -s "$SERVER" -p "$port" || return
	expect "rdma_client: end 0" "$client_out" && expect "rdma_server: end 0" "$server_out"
}

for size in 64 1000 65000; do
	try "rping -S $size" 60 rping_pair "$SERVER" $size 30
done
try "rping -q" 60 rping_pair "$SERVER" 64 30 -q
try "rping over IPv6" 60 rping_pair "$SERVER6" 64 30
for size in 1 1000 65536; do
	try "ucmatose -S $size" 60 ucmatose_pair -S $size -C 20
done
try "ucmatose -c 8" 60 ucmatose_pair -c 8
for size in 1 1000 2000; do
	try "udaddy -S $size" 60 udaddy_pair -S $size -C 20
done
try "udaddy -c 4" 60 udaddy_pair -c 4
# The sender joins as a full member of the group, and as a send-only member; stock rxe has no -l (no loopback).
try "mckey" 60 mckey_pair
try "mckey -o" 60 mckey_pair -o
# librdmacm's own udpong is left out because it fails on stock rxe: "rconnect: No such file or directory".
try "rstream" 60 stream_pair rstream -S 4096 -C 50 -I 10
# -T a is left out because its client sometimes ends with EBUSY between two guests over stock rxe.
try "rstream -T b" 60 stream_pair rstream -S 65536 -C 10 -I 5 -T b
try "riostream" 60 stream_pair riostream -S 4096 -C 50 -I 10
try "rdma_server, rdma_client" 60 rdma_server_pair
