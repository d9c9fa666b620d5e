# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The module's own limits, each set low by its parameter or left at its default.
#
# needs: device
# runs in: guest coverage-core coverage-library test-kernel-memory

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

need_univerbs || exit 1
resources_mark

# limited PARAMETER VALUE CASE: runs the case of the program limits, with the parameter set to VALUE.
limited() {
	local parameter=/sys/module/univerbs/parameters/$1 before status=0
	before=$(<"$parameter")
	echo "$2" >"$parameter" || return
	program limits "$3" || status=$?
	echo "$before" >"$parameter"
	return $status
}

run_test "max_contexts (adv27)" 30 limited max_contexts 12 contexts
run_test "max_objects (adv27)" 30 limited max_objects 40 objects
run_test "max_objects, of each kind (adv27)" 30 limited max_objects 40 objects_of_each_kind
run_test "max_ring_mib (adv27)" 30 limited max_ring_mib 8 rings
run_test "max_device_ring_mib (adv27)" 30 limited max_device_ring_mib 8 rings
run_test "max_device_ring_mib, of another context (adv27)" 30 limited max_device_ring_mib 8 rings_of_another
run_test "max_device_ring_mib, by default (adv27)" 60 program limits quarter_of_memory
# little_memory MIB COMMAND...: runs COMMAND. Its memory, and memory that the kernel allocates for it, stay below MIB.
little_memory() {
	local group=/sys/fs/cgroup/little limit=$1 status peak
	shift
	echo +memory >/sys/fs/cgroup/cgroup.subtree_control || skip "no memory cgroup"
	mkdir "$group" || return
	[ -e "$group/memory.peak" ] || { rmdir "$group"; skip "this kernel does not tell the peak of a memory cgroup"; }
	(echo "$BASHPID" >"$group/cgroup.procs" && "$@")
	status=$?
	peak=$(<"$group/memory.peak")
	rmdir "$group"
	echo "peak: $((peak >> 10)) KiB"
	[ $status -eq 0 ] && [ "$peak" -lt $((limit << 20)) ]
}

# Each process asks for 7 MiB, and four run at once.
run_test "memory that the limit refuses is not allocated (adv27)" 60 little_memory 16 limited max_ring_mib 1 refused_rings
run_test "mappings of destroyed queues count (adv27)" 30 limited max_ring_mib 8 mappings
run_test "freed resources no longer count" 20 still_works
run_test "nothing is left behind" 20 resources_unchanged
