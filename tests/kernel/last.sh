# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The last script on the test kernel: everything is unloaded, and nothing is left of it.

all_gone() {
	local link
	unload_univerbs || return
	for link in /sys/class/infiniband/*; do
		[ ! -e "$link" ] || remove_rxe "${link##*/}" || return
	done
	rmmod rdma_rxe 2>/dev/null || ! grep -q '^rdma_rxe ' /proc/modules
}

# Charges to the rdma cgroup that nobody owns any more
no_charges() {
	local file bad=0
	for file in $(find /sys/fs/cgroup -name rdma.current); do
		if grep -Eq '=[1-9]' "$file"; then
			grep -H . "$file"
			bad=1
		fi
	done
	return $bad
}

run_test "no charge is left" 30 no_charges
run_test "all modules unload" 120 all_gone
# Objects that wait for a grace period are no leak
run_test "no memory is leaked" 120 kmemleak_check
