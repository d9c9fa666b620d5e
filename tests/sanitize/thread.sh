# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The programs with several threads under ThreadSanitizer.

TEST_BIN=$UNIV_REPO/build/thread/tests
export UNIV_LIBDIR=$UNIV_REPO/build/thread/user
export TSAN_OPTIONS=halt_on_error=0:exitcode=66:second_deadlock_stack=1
export UNIV_SLOW=3
# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

need_univerbs || exit 1

: "${THREAD_PROGRAMS=threads api_event api_channel api_cq api_cq_ex}"

for name in $THREAD_PROGRAMS; do
	run_test "$name with races of threads checked" 300 program "$name"
done
