# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced by the scripts for one guest with the device of samples/pci, which the guest has from tests/vm/upci. It loads the
# core but not the driver.

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

# shellcheck disable=SC2119
load_univerbs || exit 1
sample_ko=$UNIV_REPO/samples/pci/univ_upci.ko
# On another kernel the modules are in another place.
[ "$UNIV_KO" = "$UNIV_REPO/kernel/core/univerbs.ko" ] || sample_ko=${UNIV_KO%/kernel/core/*}/samples/pci/univ_upci.ko
export UNIV_TEST_DEVICE=upci0

upci_gone() { [ ! -e /sys/class/infiniband/upci0 ]; }

upci_works() {
	wait_until 20 test -e /dev/infiniband/univerbs0 && univ ibv_devinfo -d upci0 | grep -q PORT_ACTIVE
}

upci_loads() { insmod "$sample_ko" && upci_works; }

# command_until_gone NAME FILE: writes the command NAME, which creates FILE as a sign for the host and waits until the
# device has gone.
command_until_gone() {
	cat >"$UNIV_STATE/$1" <<-COMMAND
		#!/bin/bash
		touch "$2"
		for ((i = 0; i < 600; i++)); do
			[ -e /sys/class/infiniband/upci0 ] || exit 0
			sleep 0.2
		done
		exit 1
	COMMAND
	chmod +x "$UNIV_STATE/$1"
}
