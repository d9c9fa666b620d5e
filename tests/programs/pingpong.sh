# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The pingpong examples of rdma-core: each transport, polled and sleeping, contents verified (-c).

# shellcheck source=lib.sh
. "$UNIV_REPO/tests/programs/lib.sh"

# pingpong KIND SIZE ITERATIONS [OPTION...]
pingpong() {
	local kind=$1 size=$2 iters=$3 port common
	shift 3
	next_port
	common=(-d "$DEVICE" -g 1 -p "$port" -s "$size" -n "$iters" "$@")
	pair tcp "$port" "ibv_${kind}_pingpong" "${common[@]}" -- "ibv_${kind}_pingpong" "${common[@]}" "$SERVER" || return
	expect "^$((size * iters * 2)) bytes in .* seconds" "$client_out" "$server_out" &&
		expect "^$iters iters in .* seconds" "$client_out" "$server_out"
}

try_pingpong() {
	local kind=$1 size=$2 iters=$3
	try "ibv_${kind}_pingpong -s $size -n $iters ${*:4}" 90 pingpong "$@"
}

# xsrq_pingpong neither verifies nor prints data: its exit status shows that all its messages arrived.
xsrq_pingpong() {
	local port common
	next_port
	common=(-d "$DEVICE" -g 1 -p "$port" "$@")
	pair tcp "$port" ibv_xsrq_pingpong "${common[@]}" -- ibv_xsrq_pingpong "${common[@]}" "$SERVER"
}

# few_at_a_time KIND: between two guests, 16 queue pairs with a MiB each take longer than the program's timeout for an
# acknowledgement; rdma_rxe treats late packets as lost, and has been seen to wait for ever.
few_at_a_time() { in_one_guest || [ "$1 $UNIV_LINK" != "srq rxe" ] || echo -q 2; }

for kind in rc uc srq; do
	for mode in "" -e; do
		# shellcheck disable=SC2046,SC2086 # an empty variable is no argument
		{
			try_pingpong $kind 1 1000 -c $mode
			! in_one_guest || try_pingpong $kind 4096 300 -c $mode
			! in_one_guest || try_pingpong $kind 65536 50 -c $mode
			try_pingpong $kind 1048576 8 -c $mode $(few_at_a_time $kind)
		}
	done
done
for mode in "" -e; do
	# shellcheck disable=SC2086
	{
		try_pingpong ud 1 1000 -c $mode
		! in_one_guest || try_pingpong ud 1024 300 -c $mode
		# rxe's MTU is 4096 here; the first 40 bytes of a buffer hold the GRH and not the message.
		try_pingpong ud 4096 300 -c $mode
	}
done
if offers_xrc; then
	for size in 1 4096 1048576; do
		try "ibv_xsrq_pingpong -s $size -n 50" 90 xsrq_pingpong -s $size -n 50
		try "ibv_xsrq_pingpong -s $size -n 50 -e" 90 xsrq_pingpong -s $size -n 50 -e
	done
fi
if in_one_guest; then
	# The defaults as a user would type them, and the remaining options.
	try_pingpong rc 4096 1000
	try_pingpong uc 4096 1000
	try_pingpong ud 2048 1000
	try_pingpong srq 4096 1000
	try_pingpong rc 4096 300 -c -m 4096
	try_pingpong rc 4096 300 -c -N
	try_pingpong rc 4096 300 -c -N -e
	try_pingpong rc 4096 300 -c -r 3
	try_pingpong srq 4096 300 -c -q 3 -r 20
fi
