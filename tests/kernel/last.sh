# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The last script on the test kernel: all modules are unloaded, and no object of theirs is left. Every suite looks for
# leaked memory at its end.

all_gone() {
	local link
	wait_until 15 unload_univerbs || return
	for link in /sys/class/infiniband/*; do
		[ ! -e "$link" ] || remove_device "${link##*/}" || return
	done
	rmmod rdma_rxe 2>/dev/null || ! grep -q '^rdma_rxe ' /proc/modules
}

# Charges to the rdma cgroup that are left without an owner.
charges() { find /sys/fs/cgroup -name rdma.current -exec grep -HE '=[1-9]' {} +; }
uncharged() { [ -z "$(charges)" ]; }

no_charges() {
	[ -e /sys/fs/cgroup/suite/rdma.current ] || { echo "nothing is charged where it can be read"; return 1; }
	wait_until 15 uncharged && return
	charges
	return 1
}

# Pages of processes that are pinned for devices, by the kernel's counters of pins and unpins; the kernel adds up the
# counts of its processors from time to time.
unpinned() {
	awk '$1 == "nr_foll_pin_acquired" { a = $2 } $1 == "nr_foll_pin_released" { r = $2 } END { exit a != r }' /proc/vmstat
}

no_pins() {
	wait_until 15 unpinned && return
	grep foll_pin /proc/vmstat
	return 1
}

# On the kernel that finds data races, check that KCSAN did set watchpoints.
races_looked_for() {
	grep -E '^(setup_watchpoints|data_races):' /sys/kernel/debug/kcsan
	awk '$1 == "setup_watchpoints:" { n = $2 } END { exit n < 1000 }' /sys/kernel/debug/kcsan
}

[ ! -e /sys/kernel/debug/kcsan ] || run_test "data races were looked for" 30 races_looked_for
run_test "no page is left pinned" 30 no_pins
run_test "no charge is left" 30 no_charges
run_test "all modules unload" 120 all_gone
