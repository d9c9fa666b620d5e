# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# In a guest: runs the fuzzers and the test of failing allocations over a native driver (uroce), then over rings that
# the core serves (rxe): each fuzzer for 15 seconds, and every allocation that can fail.

for kind in ${LINKS_UNDER_TEST:-uroce rxe}; do
	use_link "$kind" || exit
	(
		# shellcheck disable=SC2034 # read by the scripts that are run here
		FUZZ_SECONDS=15
		. "$UNIV_REPO/tests/vm/lib.sh"
		for script in tests/fuzz/guest.sh tests/guest/60-failnth.sh; do
			# shellcheck disable=SC1090
			. "$UNIV_REPO/$script"
			no_leaks "no memory is lost in $script over $kind"
		done
	) || exit
done
