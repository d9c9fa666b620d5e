# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The KUnit suites of tests/kunit. They need a kernel that has KUnit, and the module that tests/kernel/module --kunit
# builds. The script runs first, since the module contains the core's code a second time. The stage "kunit" gives
# kunit.log to the kernel's own parser as well, which takes 40 s in a guest and none outside.
#
# needs: kunit
# runs in: kunit coverage-core coverage-uroce

kunit_ko=${UNIV_KUNIT_KO:-${UNIV_MODULES_COPY:-/nonexistent}/tests/kunit/univerbs_kunit.ko}
kunit_results=/sys/kernel/debug/kunit

[ -d "$kunit_results" ] || skip "this kernel has no KUnit"
[ -e "$kunit_ko" ] || skip "there is no module for KUnit (tests/kernel/module --kunit)"
unload_univerbs

# insmod runs the suites and succeeds even if they fail.
kunit_load() {
	echo "<7>univ-test: the KUnit suites begin" >/dev/kmsg
	modprobe -a ib_core ib_uverbs crc32_generic udp_tunnel ip6_udp_tunnel && insmod "$kunit_ko"
}

kunit_suites() { find "$kunit_results" -mindepth 1 -maxdepth 1 -name 'univ_*' | wc -l; }

# The file of each suite is a complete report with one test. Join them to one report with a test for each suite.
kunit_joined() {
	cat "$kunit_results"/univ_*/results | awk '
		/^KTAP version/ || /^1\.\./ { next }
		/^(not )?ok [0-9]+ / { sub(/ok [0-9]+/, "ok " ++n) }
		{ print }'
}

kunit_judge() {
	local log=$UNIV_LOGDIR/kunit.log
	{
		echo "KTAP version 1"
		echo "1..$(kunit_suites)"
		kunit_joined
	} >"$log"
	grep -q '^ok ' "$log" && [ "$(grep -c '^ok ' "$log")" -eq "$(kunit_suites)" ] && ! grep -q 'not ok' "$log" && return
	kunit_expectations
	# For make t, which has the suites by these names.
	sed -nE 's/^not ok [0-9]+ (- )?univ_([a-z0-9_]+).*/again as: \2/p' "$log" | head -n 1
	return 1
}

# kunit_expectations: prints the expectations that failed, and the seeds of the cases that make random choices.
kunit_expectations() {
	local said
	said=$(dmesg | tac | sed '/the KUnit suites begin/q' | tac)
	grep -A 4 'EXPECTATION FAILED' <<<"$said" | tail -n 34
	grep -E '# [a-z0-9_]+: seed ' <<<"$said"
}

# kunit_case SUITE [CASE]...: prints the lines of these cases, or of all cases, from the suite's report; false if a case
# failed or is missing. The kernel cuts the log of a case off at 512 bytes, so a case that failed with many words has no
# line of its own, and only the line of the suite says "not ok".
kunit_case() {
	local results=$kunit_results/univ_$1/results name good=yes
	shift
	[ -e "$results" ] || { echo "no such suite"; return 1; }
	if [ $# -eq 0 ]; then
		grep -E '^ +(not )?ok [0-9]+ ' "$results"
		grep -q '^ok ' "$results" || good=''
	fi
	for name; do
		grep -E "^ +ok [0-9]+ $name( |\$)" "$results" || { echo "$name failed, or no case is called so"; good=''; }
	done
	[ -z "$good" ] || return 0
	grep -B 12 'not ok' "$results"
	kunit_expectations
	return 1
}

kunit_chosen() {
	# shellcheck disable=SC2034 # read by again
	local again_as=$KUNIT_ONLY
	# shellcheck disable=SC2086 # a name and cases
	run_test "kunit $KUNIT_ONLY" 60 kunit_case $KUNIT_ONLY
}

run_test "kunit suites run" 300 kunit_load
# A module runs all its suites; KUNIT_ONLY="SUITE [CASE]..." selects the results that count.
if [ -n "${KUNIT_ONLY:-}" ]; then
	kunit_chosen
else
	run_test "kunit suites pass" 120 kunit_judge
fi
# Unloading the module removes the reports of the suites.
run_test "kunit module unloads" 60 rmmod univerbs_kunit
