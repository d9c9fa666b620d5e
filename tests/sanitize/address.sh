# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The library under AddressSanitizer, with leak detection, and UndefinedBehaviorSanitizer.

TEST_BIN=$UNIV_REPO/build/address/tests
export UNIV_LIBDIR=$UNIV_REPO/build/address/user
export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1:halt_on_error=1
export UBSAN_OPTIONS=print_stacktrace=1
export UNIV_SLOW=2
# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

need_univerbs || exit 1

over_rxe="tutorial api_device api_channel api_cq api_cq_ex api_qp api_qp_ex api_rc api_ud api_srq api_event
	odd_memory bad_limits bad_memory bad_modify bad_post bad_requests cq_overrun threads forked races many"
over_uroce="api_rereg atomic_write windows bad_windows xrc bad_xrc"

for name in $over_rxe; do
	run_test "$name with addresses and undefined behaviour checked" 300 program "$name"
done

# Programs that use features which rdma_rxe lacks.
UNIV_LINK=uroce setup_device u0 || exit 1
export UNIV_TEST_DEVICE=u0
for name in $over_uroce; do
	run_test "$name over uroce with addresses and undefined behaviour checked" 300 program "$name"
done
remove_device u0
