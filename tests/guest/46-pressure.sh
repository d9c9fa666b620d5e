# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Processes in memory cgroups: the charges of their queues and regions, memory that is reclaimed under traffic, and a
# group that the OOM killer ends.
#
# needs: device memory-cgroup
# runs in: guest-uroce

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

need_univerbs || exit 1
{ echo +memory >/sys/fs/cgroup/cgroup.subtree_control; } 2>/dev/null || skip "no memory cgroups"
resources_mark

top=/sys/fs/cgroup
mib=$((1 << 20))

# group NAME: creates an empty group.
group() { rmdir $top/"$1" 2>/dev/null; mkdir $top/"$1"; }

# in_group NAME COMMAND...: runs COMMAND in the group.
in_group() {
	echo $BASHPID >$top/"$1"/cgroup.procs || return
	shift
	"$@"
}

current() { cat $top/"$1"/memory.current; }
event() { awk -v what="$2" '$1 == what { print $2 }' $top/"$1"/memory.events; }

# hold CASE MIB: a process of the group "held" holds MIB of the objects of CASE until let_go.
hold() {
	local fifo=$UNIV_STATE/pressure.in
	rm -f "$fifo"
	mkfifo "$fifo"
	(PRESSURE_MIB=$2 in_group held program pressure "$1") <"$fifo" >"$UNIV_STATE/pressure.out" 2>&1 &
	holder=$!
	exec {hold_fd}>"$fifo"
	wait_until 60 eval "grep -q holding '$UNIV_STATE/pressure.out' || group_leader_gone $holder"
	cat "$UNIV_STATE/pressure.out"
}

let_go() { exec {hold_fd}>&-; wait "$holder"; }

held_less() { [ "$(current held)" -lt "$1" ]; }

# charged CASE MIB: as many MiB of the objects are charged while they exist, and uncharged afterwards.
charged() {
	local has
	group held && hold "$1" "$2" || return
	grep -qE "holding ($2|$(($2 + 1))) MiB" "$UNIV_STATE/pressure.out" || { let_go && false; return; }
	has=$(current held)
	echo "charged: $((has / mib)) MiB"
	let_go || return
	# Each processor keeps some charge in stock for later allocations.
	[ "$has" -ge $((($2 - 2) * mib)) ] && wait_until 10 held_less $((has - ($2 - 4) * mib)) && return
	echo "in the end: $(($(current held) / mib)) MiB"
	return 1
}

# bounded_by_group CASE: a group of 32 MiB never gets more memory, whether the process gets an error or is killed.
bounded_by_group() {
	local status
	group held && echo $((32 * mib)) >$top/held/memory.max && hold "$1" 400
	let_go
	status=$?
	[ $status -ne 77 ] || { echo "the device has no such objects"; return 77; }
	echo "exit status $status, $(event held oom_kill) killed, peak $(($(cat $top/held/memory.peak 2>/dev/null || echo 0) / mib)) MiB"
	[ $status -eq 0 ] || [ "$(event held oom_kill)" -gt 0 ] || return
	[ "$(event held max)" -gt 0 ] || { echo "the limit was not reached"; return 1; }
	wait_until 10 held_less $((16 * mib)) || { echo "still $(current held)"; return 1; }
}

# Anonymous pages are reclaimed only where there is swap. It takes memory of the guest, compressed.
swap_begins() {
	modprobe zram num_devices=1 && echo 256M >/sys/block/zram0/disksize &&
		mkswap /dev/zram0 >/dev/null && swapon /dev/zram0
}

swap_ends() { swapoff /dev/zram0 && rmmod zram; }

swapped() { awk -v what="pswp$1" '$1 == what { print $2 }' /proc/vmstat; }

# reclaimed COMMAND...: the kernel reclaims pages of the group as fast as the command faults them in; some have to be swapped
# out and in again. This shell may run seldom meanwhile, so the command is repeated until there were some rounds.
reclaimed() {
	local traffic again rounds=0 out in
	group held || return
	[ -e $top/held/memory.reclaim ] || { echo "this kernel has no memory.reclaim"; return 77; }
	out=$(swapped out) in=$(swapped in)
	for again in 0 1 2 3; do
		in_group held "$@" &
		traffic=$!
		until group_leader_gone $traffic; do
			{ echo 64M >$top/held/memory.reclaim; } 2>/dev/null
			rounds=$((rounds + 1))
			pause 0.02
		done
		echo "$rounds times; pages out: $(($(swapped out) - out)), in: $(($(swapped in) - in))"
		wait $traffic || return
		[ $rounds -gt 5 ] && [ "$(swapped out)" -gt "$out" ] && [ "$(swapped in)" -gt "$in" ] || continue
		repeated $again "memory was reclaimed too seldom"
		return 0
	done
	return 1
}

on_demand() { program odp_traffic evicted dropped forked; }

# The device sends to itself, and every byte is checked.
both_ways() { UNIV_TEST_PEER=$UNIV_TEST_DEVICE LOSSY_MESSAGES=1000 program lossy sends writes reads; }

# The group is killed in the middle of its messages, and other processes are not affected.
killed() {
	local others kills=0
	group held && group others || return
	echo $((24 * mib)) >$top/held/memory.max
	in_group others both_ways &
	others=$!
	until group_leader_gone $others && [ $kills -gt 1 ]; do
		if (in_group held program pressure traffic) >/dev/null 2>&1; then
			echo "it was not killed"
			kill $others
			return 1
		fi
		kills=$((kills + 1))
	done
	echo "killed $(event held oom_kill) times in $kills"
	wait $others && [ "$(event held oom_kill)" -ge $kills ]
}

run_test "pressure: rings are charged" 60 charged rings 48
run_test "pressure: regions are charged" 60 charged regions 48
run_test "pressure: lists of on-demand paging are charged" 60 charged paging 16
run_test "pressure: rings are bounded by memory.max" 100 bounded_by_group rings
run_test "pressure: regions are bounded by memory.max" 100 bounded_by_group regions
run_test "pressure: lists of on-demand paging are bounded by memory.max" 100 bounded_by_group paging
run_test "pressure: the guest swaps" 20 swap_begins
run_test "pressure: pages are reclaimed under traffic" 200 reclaimed both_ways
run_test "pressure: pages of on-demand regions are reclaimed under traffic" 200 reclaimed on_demand
run_test "pressure: the guest has swapped all pages in" 60 swap_ends
run_test "pressure: a process is killed under traffic for lack of memory" 200 killed
run_test "pressure: nothing is left behind" 20 resources_unchanged
run_test "pressure: programs work afterwards" 60 still_works
rmdir $top/held $top/others
