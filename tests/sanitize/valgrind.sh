# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The ordinary library and programs under valgrind: a report is either a false report or a bug of the library or a
# program. VALGRIND_PROGRAMS and VALGRIND_UROCE_PROGRAMS choose among the programs.

export UNIV_SLOW=3
# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

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

: "${VALGRIND_PROGRAMS=tutorial defined api_srq}"
: "${VALGRIND_UROCE_PROGRAMS=tutorial api_list no_netlink api_channel api_cq api_cq_ex one_cpu api_qp api_qp_ex api_rc api_ud
	api_srq srq_resize qp_resize rings_shared api_rereg windows xrc}"

for name in $VALGRIND_PROGRAMS; do
	run_test "$name under valgrind" 300 checked "$name"
done
run_test "api_rc under valgrind" 300 checked api_rc rc_send rc_chain
run_test "api_ud under valgrind" 300 checked api_ud ud_message

# uroce has features that rdma_rxe lacks. valgrind keeps descriptors of its own above the limit that api_device sets.
UNIV_LINK=uroce setup_device u0 || exit 1
export UNIV_TEST_DEVICE=u0
for name in $VALGRIND_UROCE_PROGRAMS; do
	run_test "$name over uroce under valgrind" 300 checked "$name"
done
remove_device u0
