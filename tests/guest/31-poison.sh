# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Bytes of the kernel's that must not reach a process. A kernel that checks all it can sees no more of this than another one.

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

need_univerbs || exit 1
resources_mark

user_test poison 90

run_test "nothing is left behind" 20 resources_unchanged
