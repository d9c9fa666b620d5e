# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Kernel memory that must not leak to a process. The debug checks of a test kernel find no more of this than another
# kernel.
#
# needs: device
# runs in: guest guest-uroce

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

need_univerbs || exit 1
resources_mark

user_test poison 90

run_test "nothing is left behind" 20 resources_unchanged
