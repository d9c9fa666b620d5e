# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Every allocation of every call fails once. This needs a kernel with fault injection.
#
# needs: fault-injection

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

need_univerbs || exit 1
resources_mark

run_test "failnth over $UNIV_LINK (adv08)" 600 program failnth
user_test uffd 60

run_test "nothing is left behind" 20 resources_unchanged
