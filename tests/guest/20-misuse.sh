# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Wrong uses of the verbs: each gets a clear error, and nothing is lost.
#
# needs: device
# runs in: guest-uroce test-kernel-rxe coverage-core coverage-core-uroce coverage-uroce coverage-library
# runs in: coverage-library-uroce kernels kernels-arm64 test-kernel-memory

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

need_univerbs || exit 1
resources_mark

user_test ioctl_rules 200
user_test ioctl_handles 100
user_test bad_limits 200
user_test bad_memory 120
user_test bad_modify 240
user_test bad_post 200
user_test bad_requests 240
user_test bad_flows 30 not_offered
user_test windows 100
user_test bad_windows 200
user_test xrc 300
user_test bad_xrc 300
user_test retries 120
user_test wq 120

run_test "nothing is left behind" 20 resources_unchanged
