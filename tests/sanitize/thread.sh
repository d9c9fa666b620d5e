# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The programs that create threads under ThreadSanitizer: all of them over uroce, and a few over rdma_rxe.

TEST_BIN=$UNIV_REPO/build/thread/tests
export UNIV_LIBDIR=$UNIV_REPO/build/thread/user
export TSAN_OPTIONS=halt_on_error=0:exitcode=66:second_deadlock_stack=1
export UNIV_SLOW=3
# shellcheck source=tests/sanitize/common
. "$UNIV_REPO/tests/sanitize/common"

need_univerbs || exit 1

over_rxe thread "with races of threads checked" program threads api_event api_channel
over_uroce thread "with races of threads checked" program
