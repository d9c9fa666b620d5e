# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# In a guest: what looks for mistakes by force, over rings that the driver takes (uroce), then over rings that the core
# takes (rxe): each fuzzer for a quarter of a minute, and every allocation that fails.

for kind in ${LINKS_UNDER_TEST:-uroce rxe}; do
	use_link "$kind" || exit
	(
		# shellcheck disable=SC2034 # read by what is run here
		FUZZ_SECONDS=15
		for script in tests/vm/lib.sh tests/fuzz/guest.sh tests/guest/60-failnth.sh; do
			# shellcheck disable=SC1090
			. "$UNIV_REPO/$script"
		done
	) || exit
done
