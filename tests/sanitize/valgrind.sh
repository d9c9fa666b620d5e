# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The ordinary library and programs under valgrind: a report is either a false report or a bug of the library or a
# program. Every program runs over uroce, and a few run over rdma_rxe.

export UNIV_SLOW=3
# shellcheck source=tests/sanitize/common
. "$UNIV_REPO/tests/sanitize/common"

need_univerbs || exit 1
command -v valgrind >/dev/null || skip "valgrind is not installed"

# checked NAME [CASE]...: exits with 99 for a report, including a leak. valgrind does not know our ioctls, so its
# message about that is dropped.
checked() {
	local name=$1
	shift
	on_stack "$TEST_STACK" valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
		--sim-hints=lax-ioctls --child-silent-after-fork=yes "$TEST_BIN/$name" "$@"
}

over_rxe valgrind "under valgrind" checked tutorial defined api_srq
over_uroce valgrind "under valgrind" checked
