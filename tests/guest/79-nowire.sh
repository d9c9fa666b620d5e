# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# uroce without packets (wire=0): queue pairs of this host reach each other but no other host, and RoCE's UDP port is
# free for other modules.
#
# needs: uroce
# runs in: networks test-kernel-networks

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

# shellcheck disable=SC2119
load_univerbs || exit 1

without_wire() {
	local ko=${UNIV_KO%/core/*}/uroce/uroce.ko
	# shellcheck disable=SC2046 # names
	modprobe -a $(modinfo -F depends "$ko" | tr , '\n' | grep -vx univerbs) && insmod "$ko" wire=0 &&
		UNIV_LINK=uroce setup_device nowire
}

# The module has not registered for packets: a program that needs packets fails, and no packet is counted.
no_packets() {
	local status
	echo 0 >/sys/module/uroce/parameters/local
	program tutorial
	status=$?
	echo 1 >/sys/module/uroce/parameters/local
	[ $status -ne 0 ] && [ "$(hw_counter nowire sent_pkts)" = 0 ]
}

export UNIV_TEST_DEVICE=nowire
run_test "no wire: loaded" 30 without_wire
resources_mark
run_test "no wire: tutorial" 30 program tutorial
run_test "no wire: api_rc rc_send" 60 program api_rc rc_send
run_test "no wire: bad_flows returns" 30 program bad_flows returns
run_test "no wire: with local=0 no peer is reached" 60 no_packets
run_test "no wire: loaded again" 30 still_works
run_test "no wire: nothing is left behind" 20 resources_unchanged
remove_device nowire
run_test "no wire: unloaded" 30 rmmod uroce
