# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# After the others, with modules or a library built to count lines: takes the counters out of the guest, into folders named
# as those that hold the compiler's notes. Those of modules that were unloaded meanwhile are kept by the kernel, and add up.

# take FROM FOLDER...: the links beside a module's counters lead to the compiler's notes, which the host has
take() {
	local from=$1 folder
	shift
	for folder; do
		[ -d "$from/$folder" ] || continue
		mkdir -p "$(dirname "$UNIV_LOGDIR/counters/$folder")" && cp -dR "$from/$folder" "$UNIV_LOGDIR/counters/$folder" || return
	done
}

take_counters() {
	rm -rf "$UNIV_LOGDIR/counters"
	if [ -n "${UNIV_COUNTED:-}" ]; then
		take "$GCOV_PREFIX${UNIV_COUNTED%/*}" "${UNIV_COUNTED##*/}"
	else
		take "/sys/kernel/debug/gcov$UNIV_MODULES_COPY" kernel/core kernel/uroce tests/kunit
	fi || return
	[ -d "$UNIV_LOGDIR/counters" ] || { echo "nothing was counted"; return 1; }
}

run_test "counters are taken" 60 take_counters
