# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For scripts that run in a guest: a uroce device f0 whose faults the script sets. tests/user/guest.sh comes first.

# need_f0: the device
need_f0() {
	export UNIV_LINK=uroce
	rm -f "$UNIV_STATE/rxe.f0"
	setup_device f0 || return
	mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug || return
	export UNIV_TEST_DEVICE=f0 FAULT_DIR=/sys/kernel/debug/uroce/f0
	resources_mark
}

# counted_fault NAME COUNTER...: runs a case of the program; each counter must increase.
counted_fault() {
	local case=$1 name before=() i=0
	shift
	for name; do
		before+=("$(hw_counter f0 "$name")")
	done
	program faults "$case" || return
	for name; do
		[ "$(hw_counter f0 "$name")" -gt "${before[i++]}" ] || { echo "$name did not move"; return 1; }
	done
}

faults_over() {
	run_test "$1: not ready" 60 counted_fault rnr fault_rnr rcvd_rnr_err
	run_test "$1: error of the peer" 60 counted_fault remote_error fault_remote_error
	run_test "$1: completion in error" 60 counted_fault completion_error fault_completion_error
	run_test "$1: delayed" 60 counted_fault delay fault_delay
	run_test "$1: port down" 60 counted_fault port_down fault_port_down
	run_test "$1: one completion with a chosen status" 60 counted_fault third fault_completion_error
	run_test "$1: cases by number" 60 program faults numbered
	run_test "$1: cases by a seed" 60 program faults seeded
	run_test "$1: of one queue pair" 60 counted_fault one_queue_pair fault_remote_error
	run_test "$1: by number, of one queue pair" 60 counted_fault numbered_of_one_queue_pair fault_completion_error
}

# The output of uroce-fault for a device without faults
# shellcheck disable=SC2034 # for scripts
quiet="drop 0 duplicate 0 corrupt 0 delay 0 rnr 0 remote_error 0 completion_error 0 delay_us 1000 port_down 0"

fault_tool() { "$UNIV_LIBDIR/uroce-fault" "$@"; }
