# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Programs that move data for other ends than testing a stack: qperf, fio, librpma, MPICH, DAPL, the migration of QEMU. The
# part "others" of make check-all runs them, since they need packages of their own (packaging/debian-packages-programs.txt).

# shellcheck source=lib.sh
. "$UNIV_REPO/tests/programs/lib.sh"

needs() { [ -x "$(command -v "$1")" ] || skip "there is no $1"; }

# qperf_pair [OPTION...] TEST: the result must be a number other than 0. With -cm1 the connection manager connects, since its
# own exchange has no GIDs, which RoCE needs. So its tests of UC and UD fail over every stack.
qperf_pair() {
	local number='(0\.0*[1-9]|[1-9])[0-9.,]*'
	needs qperf
	next_port
	pair tcp "$port" qperf -lp "$port" -- qperf "$SERVER" -lp "$port" -cm1 -t 2 "$@" quit || return
	[[ ${!#} = ver_* ]] || expect "(bw|latency|msg_rate) += +$number " "$client_out"
}

# fio_pair VERB: the server of "send" has a receive for each message of the client, which does not try again.
fio_pair() {
	local common=(--ioengine=rdma --bs=64k --size=4m --eta=never)
	needs fio
	next_port
	common+=(--port="$port")
	pair cm "$port" fio --name=server "${common[@]}" --iodepth=64 --rw=read -- \
		fio --name=client "${common[@]}" --iodepth=8 --hostname="$SERVER" --verb="$1" --rw=write || return
	expect 'err= 0' "$client_out" "$server_out" && expect ' io=4096KiB' "$client_out"
}

# migrate CAPABILITY: a virtual machine whose processor is stopped moves to another QEMU with its memory.
migrate() {
	local qemu=(qemu-system-x86_64 -S -M pc -accel tcg -m 64 -nodefaults -display none -monitor stdio)
	local memory=$pairs_dir/memory fifo=$pairs_dir/monitor capability=${1:+migrate_set_capability $1 on}
	next_port
	dd if=/dev/urandom of="$memory" bs=1M count=8 status=none
	rm -f "$fifo" "$memory.there"
	mkfifo "$fifo"
	# The monitor takes the next command when the migration has ended, and the client then tells the server to end.
	# shellcheck disable=SC2016
	pair cm "$port" \
		bash -c 'exec "${@:4}" < <(printf "%s\n" "$2" "migrate_incoming $3"; cat "$1")' - "$fifo" "$capability" \
		"rdma:$SERVER:$port" "${qemu[@]}" -incoming defer -- \
		bash -c 'printf "%s\n" "$3" "migrate $4" "info migrate" quit | "${@:5}" &&
			printf "%s\n" "pmemsave 0x1000000 8388608 \"$2.there\"" quit >"$1"' - "$fifo" "$memory" "$capability" \
		"rdma:$SERVER:$port" "${qemu[@]}" -device loader,file="$memory",addr=0x1000000,force-raw=on || return
	expect 'status: completed' "$client_out" && cmp "$memory" "$memory.there" || { show_pair; return 1; }
}

# A program of ours over librpma. Both ends are in one process.
rpma() {
	local program=$UNIV_REPO/build/programs/rpma_bytes
	[ -x "$program" ] || skip "librpma-dev is not installed, or make -C tests/programs has not run"
	next_port
	on_stack "$STACK" "$program" "$SERVER" "$port"
}

# mpich TRANSPORTS: a program of ours over MPICH. Its processes would use shared memory if they knew that they are on one host.
mpich() {
	local mapped program=$UNIV_REPO/build/programs/mpich_bytes limit=$((pair_limit * ${UNIV_SLOW:-1}))
	mapped=$UNIV_LIBDIR/libibverbs.so.1
	[ "$STACK" = univerbs ] || mapped=/usr/lib/x86_64-linux-gnu/libibverbs.so.1
	mapped=$(readlink -f "$mapped")
	needs mpirun.mpich
	[ -x "$program" ] || skip "libmpich-dev is not installed, or make -C tests/programs has not run"
	client_out=$pairs_dir/client.out
	on_stack "$STACK" timeout -k 5 "$limit" mpirun.mpich -n 2 -genv MPIR_CVAR_NOLOCAL 1 -genv UCX_TLS "$1" \
		-genv UCX_NET_DEVICES "$DEVICE:1" -genv UCX_IB_GID_INDEX 1 "$program" >"$client_out" 2>&1 &&
		grep -q '^same bytes: ' "$client_out" && [ "$(grep -cxF "mapped: $mapped" "$client_out")" -eq 2 ] ||
		{ cat "$client_out"; return 1; }
}

# dapl_pair READY PROGRAM...: DAPL over librdmacm.
dapl_pair() {
	local ready=$1
	shift
	needs "$1"
	echo "here u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 \"$(netdev_of "$DEVICE") 0\" \"\"" >"$pairs_dir/dat.conf"
	export DAT_OVERRIDE=$pairs_dir/dat.conf
	pair says "$ready" "$@"
}

for name in rc_bw rc_lat rc_bi_bw rc_rdma_read_bw rc_rdma_read_lat rc_rdma_write_bw rc_rdma_write_lat rc_rdma_write_poll_lat; do
	try "qperf $name" 90 qperf_pair -m 4K $name
done
for name in rc_compare_swap_mr rc_fetch_add_mr ver_rc_compare_swap ver_rc_fetch_add; do
	try "qperf $name" 90 qperf_pair $name
done
for verb in write read send; do
	try "fio $verb" 150 fio_pair $verb
done
try "rpma" 90 rpma
try "mpich rc" 120 mpich rc_v,ud_v,self
try "mpich ud" 120 mpich ud_v,self
try "qemu migrate" 120 migrate ""
try "qemu migrate, memory pinned" 120 migrate rdma-pin-all
# dtest is left out, because it takes more than a minute over rdma_rxe on a busy machine.
try "dtestx" 120 dapl_pair aiting dtestx -P here -s -- dtestx -P here -h "$SERVER"
# shellcheck disable=SC2016
try "dapltest" 120 dapl_pair "Service Point Ready" dapltest -T S -D here -- bash -c '
	dapltest -T T -s "$1" -D here -i 10 -t 1 -w 1 -V client SR 4096 1 server SR 4096 1 client RW 65536 1 server RR 65536 1
	status=$?
	dapltest -T Q -s "$1" -D here
	exit $status' - "$SERVER"
