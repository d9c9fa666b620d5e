# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Two connections of uroce over one slow link, whose router marks packets: neither is starved, and the router's queue
# stays short. bench/run shares measures the shares; here they depend on the load of the machine too.
#
# needs: uroce
# runs in: guest networks

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

# shellcheck source=tests/user/network.sh
. "$UNIV_REPO/tests/user/network.sh"

# shellcheck disable=SC2119
load_univerbs && UNIV_LINK=uroce load_link || exit 1
far_behind_slow_link
status=$?
[ $status -ne 77 ] || exit 77
[ $status -eq 0 ] || { fails "two namespaces with a device each, and a router"; exit 1; }
resources_mark

run_test "uroce shares: two write" 60 share_link writes
run_test "uroce shares: two read" 60 share_link reads
run_test "uroce shares: one writes, later one reads" 60 share_link write_and_read
run_test "uroce shares: one reads, later one writes" 60 share_link read_and_write
run_test "uroce shares: two send, unreliable" 60 share_link unreliable_sends

run_test "uroce shares: nothing is left behind" 20 resources_unchanged
run_test "uroce shares: both devices are removed" 20 slow_link_gone
