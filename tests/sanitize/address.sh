# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The library under AddressSanitizer, with leak detection, and UndefinedBehaviorSanitizer: every program over uroce, and a few
# over rdma_rxe.

TEST_BIN=$UNIV_REPO/build/address/tests
export UNIV_LIBDIR=$UNIV_REPO/build/address/user
export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1:halt_on_error=1
export UBSAN_OPTIONS=print_stacktrace=1
export UNIV_SLOW=2
# shellcheck source=tests/sanitize/common
. "$UNIV_REPO/tests/sanitize/common"

need_univerbs || exit 1

over_rxe address "with addresses and undefined behaviour checked" program tutorial api_rc api_ud api_srq bad_post bad_requests \
	threads
over_uroce address "with addresses and undefined behaviour checked" program
