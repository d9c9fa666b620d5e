# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Hostile processes against code of the core that no driver takes part in: mappings, and permissions of the node. One
# kind of device is enough.
#
# needs: device
# runs in: guest-uroce test-kernel-rxe coverage-core coverage-library kernels-arm64 rt-kernel test-kernel-memory

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

need_univerbs || exit 1
resources_mark

user_test mmaps 120
user_test perms 60

run_test "nothing is left behind" 20 resources_unchanged
