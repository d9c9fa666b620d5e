# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Every wrong use: a clear error, and nothing lost.

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

need_univerbs || exit 1
resources_mark

user_test ioctl_rules 200
user_test ioctl_handles 100
user_test bad_limits 200
user_test bad_memory 120
user_test bad_modify 240
user_test bad_post 240
user_test windows 100
user_test windows_bad 200
user_test xrc 300
user_test xrc_bad 300
user_test retries 120

run_test "nothing is left behind" 20 resources_unchanged
