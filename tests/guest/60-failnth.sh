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

# The memory of connections over packets, too
modify_by_packets() {
	local status
	echo 0 >/sys/module/uroce/parameters/local
	program failnth modify
	status=$?
	echo 1 >/sys/module/uroce/parameters/local
	return $status
}
[ "$UNIV_LINK" != uroce ] || run_test "failnth by packets: attributes of queue pairs" 200 modify_by_packets
run_test "failnth over $UNIV_LINK (adv08)" 600 program failnth
user_test uffd 60

run_test "nothing is left behind" 20 resources_unchanged
