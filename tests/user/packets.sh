# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For scripts that run in a guest: a uroce device whose queue pairs send to each other by copying, or by packets if the script
# wants so. tests/user/guest.sh comes first.

# need_both: the device
need_both() {
	UNIV_LINK=uroce setup_device both && load_driver uroce || return
	export UNIV_TEST_DEVICE=both
	resources_mark
}

both_gone() {
	echo 1 >/sys/module/uroce/parameters/local
	remove_device both
}

packets() { hw_counter both sent_pkts; }

# over_packets COMMAND...: runs it while queue pairs of one host send by packets, which have to be used.
over_packets() {
	local before
	echo 0 >/sys/module/uroce/parameters/local
	before=$(packets)
	"$@" || return
	[ "$before" != "$(packets)" ] || { echo "no packets were used"; return 1; }
}

programs() {
	local name
	for name; do
		program "$name" || return
	done
}

# Both paths use one function to check the rights of a peer, but each calls it in its own way.
# by_packets PROGRAM...: runs the programs by packets.
by_packets() { over_packets programs "$@"; }
