# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# perftest: every operation over every transport that has it.

# shellcheck source=lib.sh
. "$UNIV_REPO/tests/programs/lib.sh"

# A result line starts with size and iterations.
result() { echo "^ *$1 +$2 "; }

# perftest PROGRAM EXPECT OPTION...: EXPECT is a regex, or "N sizes".
perftest() {
	local program=$1 expected=$2 how=tcp port common
	shift 2
	next_port
	# With -R and -z both sides connect through the connection manager.
	case " $* " in *" -R "*|*" -z "*) how=cm ;; esac
	common=(-d "$DEVICE" -x 1 -F -p "$port" "$@")
	# A guest has one processor here, and its host may stop that for longer than perftest's own timeout.
	in_one_guest || common+=(-u 20)
	pair $how "$port" "$program" "${common[@]}" -- "$program" "${common[@]}" "$SERVER" || return
	case $expected in
	*" sizes") expect_sizes "${expected% sizes}" ;;
	*) expect "$expected" "$client_out" ;;
	esac && expect_rates
}

# Expect N result lines for the sizes 2, 4, 8 and so on.
expect_sizes() {
	local n=$1 size=2
	while [ "$n" -gt 0 ]; do
		expect "^ *$size +[0-9]+ +([0-9]|inf)" "$client_out" || return
		size=$((size * 2)) n=$((n - 1))
	done
}

# A rate of "inf" fails the test, if all else is as it should be too. run_test looks for the line that this prints.
expect_rates() {
	! grep -E '^ *[0-9]+ +[0-9]+ .*\<inf\>' "$client_out" || { echo "$only_inf"; return 1; }
}

try_perftest() {
	local program=$1
	try "$program ${*:3}" 120 perftest "$@"
}

# sized PROGRAM TRANSPORT SIZE [OPTION]...: many small messages, so that rings wrap, or few large ones.
sized() {
	local program=$1 transport=$2 size=$3 n=1000
	shift 3
	[ "$size" -le 4096 ] || n=40
	[ "$size" -le 65536 ] || n=6
	# A datagram that finds no receive posted is lost, and perftest then waits for ever, so stay within its queue
	# depth.
	[ "$transport $program" != "UD ib_send_bw" ] || n=200
	try_perftest "$program" "$(result "$size" $n)" -c "$transport" -s "$size" -n $n "$@"
}

# perftest does not look at the bytes that it sends; carry.sh does, over RC, UC and UD.
for transport in RC UC UD; do
	large=1048576
	# A datagram has at most one packet, and rxe's MTU is 4096 here.
	[ $transport != UD ] || large=4096
	sized ib_send_lat $transport 2 -e
	sized ib_send_bw $transport $large
done
for transport in RC UC; do
	# perftest has no events for RDMA write, because nothing completes at the far side.
	sized ib_write_lat $transport 2
	sized ib_write_bw $transport 65536
done
sized ib_read_lat RC 2 -e
sized ib_read_bw RC 1048576
for type in CMP_AND_SWAP FETCH_AND_ADD; do
	try_perftest ib_atomic_lat "$(result 8 1000)" -A $type -n 1000
	try_perftest ib_atomic_bw "$(result 8 1000)" -A $type -n 1000 -e
done

if offers_xrc; then
	sized ib_send_lat XRC 2 -e
	sized ib_send_bw XRC 1048576
	sized ib_write_lat XRC 2
	sized ib_write_bw XRC 65536
	sized ib_read_bw XRC 65536
	try_perftest ib_atomic_lat "$(result 8 1000)" -c XRC -n 1000
	try_perftest ib_send_bw "$(result 4096 2000)" -c XRC -s 4096 -n 500 -q 4
fi

# Queue pairs that librdmacm creates and connects.
try_perftest ib_write_bw "$(result 4096 1000)" -s 4096 -n 1000 -R
try_perftest ib_send_lat "$(result 64 500)" -s 64 -n 500 -R -e
try_perftest ib_send_bw "$(result 1024 200)" -c UD -s 1024 -n 200 -R
try_perftest ib_read_lat "$(result 64 500)" -s 64 -n 500 -z

if in_one_guest; then
	# -a spends half a second on each size to measure the CPU's clock, so only a few cases go through all sizes.
	try_perftest ib_write_bw "23 sizes" -a -n 5
	try_perftest ib_send_lat "12 sizes" -c UD -a -n 5 -e

	sized ib_write_bw RC 64 -I 64
	sized ib_send_bw UC 64 -I 64 -e

	# Options that use other verbs. There is no -g: over stock rxe perftest's multicast loses its control connection
	# at the end, and mckey tests multicast.
	try_perftest ib_write_bw "$(result 4096 2000)" -s 4096 -n 500 -q 4
	try_perftest ib_send_bw "$(result 4096 2000)" -s 4096 -n 500 -q 4
	try_perftest ib_write_bw "$(result 4096 1000)" -s 4096 -n 1000 -b
	try_perftest ib_send_bw "$(result 4096 1000)" -s 4096 -n 1000 -b -e
	try_perftest ib_write_bw "$(result 64 1024)" -s 64 -n 1024 -l 32
	try_perftest ib_send_bw "$(result 64 1024)" -s 64 -n 1024 -l 16 --recv_post_list 16
	try_perftest ib_send_bw "$(result 1024 1000)" -s 1024 -n 1000 --use-srq
	try_perftest ib_send_lat "$(result 1024 500)" -s 1024 -n 500 --use-srq -e
	try_perftest ib_write_bw "$(result 64 2000)" -s 64 -n 2000 -Q 1 -t 16
	try_perftest ib_send_bw "$(result 64 2000)" -s 64 -n 2000 -r 8 -t 8 -Q 1
	try_perftest ib_read_bw "$(result 4096 1000)" -s 4096 -n 1000 -o 1
	try_perftest ib_send_bw "^ *65536 +[0-9]+ " -s 65536 -D 1
	try_perftest ib_write_lat "$(result 64 500)" -s 64 -n 500 --use_old_post_send
fi
