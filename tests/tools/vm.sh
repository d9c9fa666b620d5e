#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# univerbs-vm as a user without privileges calls it: the environment of a command in a host, its results, and that
# nothing stays behind. Several checks share a guest, since each takes a minute to boot. ONLY=regex picks checks.

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/host.sh
. tests/host.sh
self=$PWD/tests/tools/vm.sh vm_tool=$PWD/build/user/univerbs-vm

# The caller is an ordinary user, with a folder of its own for temporary files. A check may set vm_path, to hide programs.
as_nobody() {
	setpriv --reuid nobody --regid nogroup --clear-groups \
		env HOME="$vm_dir" TMPDIR="$vm_dir/tmp" PATH="${vm_path:-$PATH}" "$@"
}

vm() { as_nobody "$(type -P timeout)" -k 20 1500 "$vm_tool" "$@"; }

# says FILE REGEX: fails with the file's text
says() { grep -qE -- "$2" "$1" || { echo "no line like $2 in:"; cat "$1"; return 1; }; }

# The command of one_host, in the host
cat_one_host() {
	cat <<-'COMMAND'
	echo "user $(id -un), directory $PWD, host $(hostname)"
	echo "to standard error" >&2
	cat file
	echo changed >file; cat file
	echo "of the guest" >kept/result
	ls -l /dev/infiniband/univerbs0 /sys/class/infiniband
	ulimit -l
	ibv_rc_pingpong -d uroce0 -g 1 >server.log 2>&1 &
	until ss -Hltn sport = :18515 | grep -q .; do sleep 1; done
	ibv_rc_pingpong -d uroce0 -g 1 host1; wait $! && echo "both ends are done"
	echo "$GREETING"; echo "input" | on host1 'cat; echo "$GREETING from $PWD"; exit 9'; echo "on: $?"
	touch /run/vm/marker 2>/dev/null && echo "may write what root owns"
	kill -SEGV $$
	COMMAND
}

# One host: the environment of the command, and its exit status
one_host() {
	local out=$vm_dir/one.out err=$vm_dir/one.err status
	(cd "$vm_dir" && GREETING="hello  world" vm --write kept -- bash -c "$(cat_one_host)" >"$out" 2>"$err")
	status=$?
	[ $status -eq 139 ] || { echo "status $status, not that of a segmentation fault"; cat "$out" "$err"; return 1; }
	says "$out" "^user nobody, directory $vm_dir, host host1$" && says "$err" '^to standard error$' &&
		says "$out" '^of the host$' && says "$out" '^changed$' && says "$out" uroce0 && says "$out" '^unlimited$' &&
		says "$out" '^both ends are done$' && says "$out" '^hello  world$' && says "$out" '^input$' &&
		says "$out" "^hello  world from $vm_dir$" && says "$out" '^on: 9$' || return
	! grep -q "standard error" "$out" || { echo "standard error came on standard output"; return 1; }
	! grep -q "may write what root owns" "$out" || { echo "the command is more than the caller"; return 1; }
	[ "$(cat "$vm_dir/file")" = "of the host" ] || { echo "a file of this machine has changed"; return 1; }
	[ "$(cat "$vm_dir/kept/result")" = "of the guest" ] || { echo "--write has kept nothing"; return 1; }
}

cat_two_hosts() {
	cat <<-'COMMAND'
	on host2 ibv_rc_pingpong -d uroce0 -g 1 >server.log 2>&1 &
	until on host2 ss -Hltn sport = :18515 | grep -q .; do sleep 1; done
	ibv_rc_pingpong -d uroce0 -g 1 host2; wait $! && echo "both ends are done"
	rdma statistic show link uroce0/1
	on host2 rdma statistic show link uroce0/1
	mpirun -n 4 sh -c 'echo "rank on $(hostname)"'
	mpirun -n 2 --map-by node --mca pml ucx -x UCX_TLS=rc_v,ud_v -x UCX_NET_DEVICES=uroce0:1 -x UCX_IB_GID_INDEX=1 \
		/usr/bin/python3 "$MPI_PROGRAM" ringtest -n 65536 -l 20
	exit 3
	COMMAND
}

# counter NAMES FILE: the sum of both hosts' counters of those names
counter() { grep -oE "\\<($1) [0-9]+" "$2" | awk '{ n += $2 } END { print n + 0 }'; }

# MPI passed messages between one process on each host, by verbs of univerbs and nothing else.
mpi_messages() {
	says "$1" '^time for 20 loops' && says "$1" '^host: host1$' && says "$1" '^host: host2$' || return
	[ "$(grep -cxF "mapped: $(readlink -f build/user/libibverbs.so.1)" "$1")" -eq 2 ] ||
		{ echo "MPI did not run over univerbs:"; cat "$1"; return 1; }
}

# Two hosts that lose packets: servers and clients, counters of lost and repeated packets, and MPI over both
two_hosts() {
	local out=$vm_dir/two.out status
	(export MPI_PROGRAM=$PWD/tests/programs/mpi.py && cd "$vm_dir" &&
		vm -n 2 --cpus 1 --fault 'drop 2%' -- bash -c "$(cat_two_hosts)" >"$out" 2>&1)
	status=$?
	[ $status -eq 3 ] || { echo "status $status"; cat "$out"; return 1; }
	says "$out" '^both ends are done$' && says "$out" '^rank on host1$' && says "$out" '^rank on host2$' &&
		mpi_messages "$out" || return
	[ "$(counter fault_drop "$out")" -gt 0 ] || { echo "no packet was lost:"; cat "$out"; return 1; }
	[ "$(counter 'rcvd_nak|ack_timeout' "$out")" -gt 0 ] || { echo "nothing was sent again:"; cat "$out"; return 1; }
}

# Three hosts, so that there is a hub, over rdma_rxe and the stock stack, by univerbs-vm as it is installed
three_hosts() {
	local out=$vm_dir/three.out vm_tool=$vm_dir/installed/bin/univerbs-vm
	(cd "$vm_dir" && vm -n 3 --cpus 1 --mem 512M --link rxe --stack stock -- sh -c \
		'on host3 "on host2 hostname && hostname"; ibv_devinfo -d rxe0 -l; [ ! -e /sys/module/univerbs ]' >"$out" 2>&1) ||
		{ cat "$out"; return 1; }
	says "$out" '^host2$' && says "$out" '^host3$' && says "$out" rxe0
}

no_end() {
	local status
	vm --timeout 10 -- sleep 1000 >"$vm_dir/late.out" 2>&1
	status=$?
	[ $status -eq 124 ] || { echo "status $status"; return 1; }
	says "$vm_dir/late.out" 'no end after 10 s'
}

# refused REGEX ARGUMENT...: status 125 and a sentence, without a guest
refused() {
	local regex=$1 status
	shift
	vm "$@" >"$vm_dir/refused.out" 2>&1
	status=$?
	[ $status -eq 125 ] || { echo "univerbs-vm $*: status $status"; return 1; }
	says "$vm_dir/refused.out" "$regex"
}

wrong_calls() {
	refused 'no command was given' && refused 'unknown option --frob' --frob -- true &&
		refused 'from 1 to 9, not "0"' -n 0 -- true && refused 'uroce or rxe, not "mlx5"' --link mlx5 -- true &&
		refused 'needs --link uroce' --link rxe --fault 'drop 1%' -- true && refused 'needs a value' --fault &&
		refused 'is not a directory' --write /no/such -- true &&
		refused 'cannot be read' --kernel 1.2.3 -- true
}

# stub NAME: prints a folder with a program of that name that fails.
stub() {
	mkdir -p "$vm_dir/stub-$1" && printf '#!/bin/sh\nexit 1\n' >"$vm_dir/stub-$1/$1" && chmod 755 "$vm_dir/stub-$1/$1" &&
		echo "$vm_dir/stub-$1"
}

# Without QEMU, a kernel or the modules, a sentence says what to install.
prerequisites() {
	local program
	mkdir -p "$vm_dir/few" || return
	for program in bash env readlink sed sort uname; do
		ln -sf "$(type -P $program)" "$vm_dir/few/" || return
	done
	vm_path=$vm_dir/few refused 'missing: qemu-system-x86_64 .*apt install qemu-system-x86' -- true &&
		vm_path=$(stub modprobe):$PATH refused 'no kernel in /boot can be read.*apt install linux-image-amd64' -- true &&
		vm_path=$(stub modinfo):$PATH refused 'no modules of univerbs are built for .*: install univerbs-dkms' -- true
}

# On a terminal univerbs-vm says that a start without KVM takes long. Ctrl-C ends the guests, also while they start.
ctrl_c() {
	local out=$vm_dir/ctrl-c.out status
	: >"$out"
	{
		sleep 3
		[ -e /dev/kvm ] || timeout 60 sh -c "until grep -q kvm '$out'; do sleep 0.2; done"
		printf '\003'
	} | as_nobody SHELL=/bin/bash script -qec "exec $vm_tool -n 2 -- sleep 1000" /dev/null >"$out"
	status=$?
	[ $status -eq 130 ] || { echo "status $status"; cat "$out"; return 1; }
	[ -e /dev/kvm ] || says "$out" '/dev/kvm cannot be opened, so starting takes' || return
	nothing_left
}

# A signal ends the guests, too
interrupted() {
	local pid status
	# Without exec, the signal would reach a subshell only.
	(exec setpriv --reuid nobody --regid nogroup --clear-groups env HOME="$vm_dir" TMPDIR="$vm_dir/tmp" \
		"$vm_tool" -- sleep 1000) >/dev/null 2>&1 &
	pid=$!
	sleep 5
	kill -TERM "$pid"
	wait "$pid"
	status=$?
	[ $status -eq 143 ] || { echo "status $status"; return 1; }
	nothing_left
}

nothing_left() {
	local left
	left=$(find "$vm_dir/tmp" -mindepth 1; pgrep -u nobody -af "$vm_dir|$vm_tool")
	[ -z "$left" ] || { echo "left behind:"; echo "$left"; return 1; }
}

# A check is a call of this script by the name of its function, so that it can be bounded
if [ -n "${VM_DIR:-}" ]; then
	vm_dir=$VM_DIR
	"$1"
	exit
fi
vm_dir=$(mktemp -d "${TMPDIR:-/tmp}/univerbs-tools.XXXXXX") || exit
trap 'rm -rf "$vm_dir"' EXIT
make -s install-user prefix="$vm_dir/installed" >/dev/null || exit
mkdir "$vm_dir/tmp" "$vm_dir/kept" && echo "of the host" >"$vm_dir/file" && chown -R nobody "$vm_dir" || exit
check() {
	[[ $1 =~ ${ONLY:-} ]] || return 0
	host_again="ONLY='$1' tests/tools/vm.sh" host_test "univerbs-vm: $1" "$2" env VM_DIR="$vm_dir" "$self" "$3"
}

check "wrong calls say what is wrong" 60 wrong_calls
check "without what it needs, it says what to install" 60 prerequisites
check "Ctrl-C ends it" 120 ctrl_c
check "one host: files, user, status, input and output" 1600 one_host
check "two hosts that lose packets, and Open MPI over both" 1600 two_hosts
check "three hosts, rdma_rxe, the stock stack" 1600 three_hosts
check "a timeout" 120 no_end
check "a signal ends it" 60 interrupted
check "nothing is left behind" 60 nothing_left
host_finish
