# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Our objects in the kernel's accounting: rdma resource, and the rdma cgroup.
#
# needs: device
# runs in: quick guest guest-uroce coverage-core test-kernel-memory

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

need_univerbs || exit 1
resources_mark

# hold_start: sets $hold_pid; the program holds its objects until hold_stop.
hold_start() {
	local fifo=$UNIV_STATE/hold.in
	rm -f "$fifo"
	mkfifo "$fifo"
	program hold <"$fifo" >"$UNIV_STATE/hold.out" 2>&1 &
	exec {hold_fd}>"$fifo"
	wait_until 15 grep -q holding "$UNIV_STATE/hold.out" || { cat "$UNIV_STATE/hold.out"; return 1; }
	hold_pid=$(pidof hold)
}

hold_stop() { exec {hold_fd}>&-; wait; }

# shown KIND: the kind is listed with our process as its owner. Objects that were created through kernel verbs are
# listed with a name instead of a process; ours is the name and the number of the process.
shown() {
	local list
	list=$(rdma resource show "$1")
	grep -q "comm \[hold:$hold_pid\]\|pid $hold_pid comm hold" <<<"$list" && return
	echo "rdma resource show $1 has no line of hold, pid $hold_pid:"
	echo "$list"
	return 1
}

listed() {
	local kind failed=0
	hold_start || return 1
	for kind in pd cq qp mr srq; do
		shown $kind || failed=1
	done
	rdma resource show qp | grep -q "type RC.*state RTS" ||
		{ echo "no RC queue pair in RTS:"; rdma resource show qp; failed=1; }
	hold_stop
	return $failed
}

run_test "rdma resource lists our objects with their owner" 40 listed
run_test "resources of ended processes are gone" 20 resources_unchanged

# ---- the rdma cgroup -----------------------------------------------------------------------------------------------

group=/sys/fs/cgroup/univ-test

cgroup_ready() {
	grep -qw rdma /sys/fs/cgroup/cgroup.controllers 2>/dev/null &&
		echo +rdma >/sys/fs/cgroup/cgroup.subtree_control && mkdir -p $group
}

current() { grep rxe0 $group/rdma.current; }

in_group() { echo $BASHPID >$group/cgroup.procs && "$@"; }

charged() {
	echo "rxe0 hca_handle=max hca_object=max" >$group/rdma.max
	( in_group hold_start && current && hold_stop ) >"$UNIV_STATE/charged" 2>&1 ||
		{ cat "$UNIV_STATE/charged"; return 1; }
	# One domain, one region, two completion queues, one shared receive queue and two queue pairs.
	grep -q 'rxe0 hca_handle=1 hca_object=7 *$' "$UNIV_STATE/charged" ||
		{ echo "not charged:"; cat "$UNIV_STATE/charged"; return 1; }
	wait_until 10 uncharged || { echo "still charged: $(current)"; return 1; }
}

uncharged() { ! current | grep -q '=[1-9]'; }

limited() {
	echo "rxe0 hca_handle=max hca_object=12" >$group/rdma.max
	# Beside the seven objects of charged().
	( in_group program hold more 5 ) || return 1
	wait_until 10 uncharged || { echo "still charged: $(current)"; return 1; }
}

no_handle() {
	local out
	echo "rxe0 hca_handle=0 hca_object=max" >$group/rdma.max
	out=$( in_group program tutorial 2>&1 ) && { echo "opened in spite of hca_handle=0"; return 1; }
	echo "$out"
	out=$( UNIVERBS_EXPLAIN=1 in_group program tutorial 2>&1 )
	grep -qi cgroup <<<"$out" || { echo "not explained: $out"; return 1; }
}

if cgroup_ready; then
	run_test "objects are charged to the rdma cgroup and given back" 60 charged
	run_test "the cgroup's limit on objects is explained" 40 limited
	run_test "the cgroup's limit on contexts is explained" 40 no_handle
	# Remove the limits first: if a pool has limits but no users when its group is removed, Linux 6.1 leaves it
	# dangling and corrupts its lists when the device is removed.
	echo "rxe0 hca_handle=max hca_object=max" >$group/rdma.max
	rmdir $group
else
	report ok "rdma cgroup" "# SKIP no rdma controller"
fi

run_test "nothing is left behind" 20 resources_unchanged
