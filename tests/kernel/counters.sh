# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# After the others, with modules built to count lines: takes the counters out of the guest. Those of modules that were
# unloaded meanwhile are kept by the kernel, and add up.

counters=/sys/kernel/debug/gcov

# The links beside them lead to the compiler's notes, which the host has
take_counters() {
	local from=$counters$UNIV_MODULES_COPY part
	rm -rf "$UNIV_LOGDIR/counters"
	for part in kernel/core tests/kunit; do
		[ -d "$from/$part" ] || continue
		mkdir -p "$UNIV_LOGDIR/counters/${part%/*}" && cp -dR "$from/$part" "$UNIV_LOGDIR/counters/$part" || return
	done
	[ -d "$UNIV_LOGDIR/counters/kernel/core" ] || { echo "the core counts nothing"; return 1; }
}

run_test "counters are taken" 60 take_counters
