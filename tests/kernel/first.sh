# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The first script on the test kernel: the kernel's checks are present and active. Without this test, their absence
# would go unnoticed.

at_work() {
	local debug=/sys/kernel/debug file
	for file in /proc/lockdep_stats $debug/{kcov,kunit,failslab,fail_page_alloc,fail_usercopy}; do
		[ -e "$file" ] || { echo "there is no $file"; return 1; }
	done
	# kmemleak refuses the command after it has given up.
	! leaks_looked_for || echo stack=on >$debug/kmemleak || return
	lockdep_check || return
	! dmesg | grep 'ODEBUG disabled'
}

# The kernel that finds data races has none of these checks.
races_found() { echo on >/sys/kernel/debug/kcsan; }

if [ -e /sys/kernel/debug/kcsan ]; then
	run_test "what finds data races is at work" 60 races_found
else
	run_test "what finds mistakes is at work" 60 at_work
fi
