# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Third-party suites and libraries: rdma-core's tests, UCX, libfabric, Open MPI. They use more of a device than programs
# do, so they run over uroce; over rdma_rxe, and over the stock stack, they run if ONLY selects them.

# shellcheck source=lib.sh
. "$UNIV_REPO/tests/programs/lib.sh"

wants_suites() { in_one_guest && { [ "$UNIV_LINK" = uroce ] || [ -n "${ONLY:-}" ]; }; }

# rdma_core REGEX: runs the tests whose names match.
rdma_core() {
	local skips=("$UNIV_REPO/tests/programs/rdma-core-skips") reasons=$UNIV_STATE/rdma-core/skips
	[ ! -e "${skips[0]}.$UNIV_LINK" ] || skips+=("${skips[0]}.$UNIV_LINK")
	# The stock stack's test of an atomic write fails instead of being skipped on rdma_rxe of 6.1, which has no
	# atomic write.
	[ "$STACK" != stock ] || set -- '^(?!.*test_qp_ex_rc_atomic_write)'
	unpack_rdma_core / "$UNIV_STATE/rdma-core" && cat "${skips[@]}" >"$reasons" || return
	on_stack "$STACK" "$UNIV_REPO/tests/programs/rdma-core.py" "$UNIV_STATE/rdma-core" "$DEVICE" "$reasons" "$@"
}

# ucx_pair OPTION...: UCX loads the library late, after local_serve has checked the library, so it is preloaded.
ucx_pair() {
	local gid=$1 ucx=(env LD_PRELOAD=libibverbs.so.1 UCX_WARN_UNUSED_ENV_VARS=n UCX_NET_DEVICES="$DEVICE:1")
	shift
	[ -x "$(command -v ucx_perftest)" ] || skip "there is no ucx_perftest"
	next_port
	ucx+=(UCX_IB_GID_INDEX="$gid" "${ucx_tls[@]}" ucx_perftest)
	pair tcp "$port" "${ucx[@]}" -p "$port" "$@" -- "${ucx[@]}" "$SERVER" -p "$port" "$@" -n 200 -w 20 || return
	! grep -qi "unsupported operation\|ERROR" "$client_out" "$server_out" || { show_pair; return 1; }
	expect '^(Final:|\[thread 0\]) +200' "$client_out"
}

uct_pair() {
	local ucx_tls=() gid=$1 transport=$2
	shift 2
	ucx_pair "$gid" -d "$DEVICE:1" -x "$transport" "$@"
}

# Messages of UCX's upper layer; rc connects through ud.
ucp_pair() {
	local ucx_tls=("UCX_TLS=$2") gid=$1
	shift 2
	ucx_pair "$gid" "$@"
}

# fabric_pair ENDPOINT: uses the verbs provider alone.
fabric_pair() {
	local fi=(env FI_PROVIDER=verbs fi_pingpong -p verbs -e "$1" -I 50)
	[ -x "$(command -v fi_pingpong)" ] || skip "there is no fi_pingpong"
	next_port
	pair tcp "$port" "${fi[@]}" -B "$port" -- "${fi[@]}" -P "$port" "$SERVER" || return
	expect "^64k? " "$client_out"
}

# A program of ours over libfabric. Both ends are in one process, so that no check has to wait until the server listens.
fabric_shared() {
	local program=$UNIV_REPO/build/programs/fabric_srx
	[ -x "$program" ] || { echo "make -C tests/programs"; return 1; }
	next_port
	on_stack "$STACK" env FI_PROVIDER=verbs "$program" "$SERVER" "$port"
}

# mpi OPTION...: two processes of Open MPI pass messages by verbs alone.
mpi() {
	local mapped limit=$((pair_limit * ${UNIV_SLOW:-1}))
	mapped=$UNIV_LIBDIR/libibverbs.so.1
	[ "$STACK" = univerbs ] || mapped=/usr/lib/x86_64-linux-gnu/libibverbs.so.1
	mapped=$(readlink -f "$mapped")
	[ -x "$(command -v mpirun.openmpi)" ] && /usr/bin/python3 -c 'import mpi4py' || skip "Open MPI or mpi4py is not installed"
	client_out=$pairs_dir/client.out
	on_stack "$STACK" timeout -k 5 "$limit" mpirun.openmpi --allow-run-as-root --oversubscribe -n 2 "$@" \
		"$UNIV_REPO/tests/programs/mpi.py" ringtest -n 65536 -l 20 >"$client_out" 2>&1 || { cat "$client_out"; return 1; }
	grep -q '^time for 20 loops' "$client_out" && [ "$(grep -cxF "mapped: $mapped" "$client_out")" -eq 2 ] ||
		{ cat "$client_out"; return 1; }
}

if wants_suites; then
	try "rdma-core's tests" 500 rdma_core
	# GID 0 is an IPv6 address, GID 1 an IPv4 address.
	for gid in 0 1; do
		try "ucx ud, GID $gid" 60 uct_pair $gid ud_verbs -t am_lat
		try "ucx rc, GID $gid" 60 ucp_pair $gid rc_v,ud_v -t tag_lat
	done
	try "ucx rc put" 60 uct_pair 1 rc_verbs -t put_bw
	try "ucx rc fetch-and-add" 60 uct_pair 1 rc_verbs -t fadd
	try "ucx rc compare-and-swap" 60 uct_pair 1 rc_verbs -t cswap
	try "fi_pingpong" 60 fabric_pair msg
	try "libfabric, a shared receive context" 60 fabric_shared
	try "mpirun over UCX" 100 mpi --mca pml ucx -x UCX_TLS=rc_v,ud_v -x UCX_NET_DEVICES="$DEVICE:1" -x UCX_IB_GID_INDEX=1
	# Over rdma_rxe it finds no way to send, with the stock stack too.
	[ "$UNIV_LINK" = rxe ] || try "mpirun over libfabric" 100 mpi --mca pml cm --mca mtl ofi -x FI_PROVIDER='verbs;ofi_rxm'
fi
