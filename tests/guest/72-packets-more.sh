# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# More packets that uroce should not get than in 72-packets.sh: forged ones for XRC and path migration, and each packet twice.
#
# needs: uroce
# runs in: guest coverage-uroce test-kernel-networks

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

# shellcheck source=tests/user/network.sh
. "$UNIV_REPO/tests/user/network.sh"

need_far_and_near || exit 1

run_test "uroce packets: XRC (adv21)" 300 program packets_xrc
# A response is sent again while the first one may still be queued, and one skb cannot be queued twice.
twice() {
	local status
	"$UNIV_LIBDIR/uroce-fault" set w-near duplicate 100% || return
	program packets open forged_answers close && program lossy reads atomics answers_in_error
	status=$?
	"$UNIV_LIBDIR/uroce-fault" clear w-near && return $status
}
run_test "uroce packets: each packet arrives twice (faults)" 100 twice
run_test "uroce packets: a second address for each device" 30 second_addresses
run_test "uroce packets: path migration (adv21)" 100 program packets_mig
run_test "uroce packets: connections migrate to another path" 200 migrate migration
run_test "uroce packets: nothing is left behind" 20 resources_unchanged
run_test "uroce packets: both devices are removed" 20 far_gone
run_test "uroce packets: the modules unload" 30 rmmod uroce
