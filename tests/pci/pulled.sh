# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The device of samples/pci is pulled out under traffic. tests/pci/pulled runs this script in a guest of its own.

# shellcheck source=tests/pci/device.sh
. "$UNIV_REPO/tests/pci/device.sh"

command_until_gone pull "$UNIV_LOGDIR/unplug"

# Slots exist only if the kernel has a driver for hot plug.
pulled_out() {
	compgen -G '/sys/bus/pci/slots/*' >/dev/null || { echo "this kernel has no hot plug of PCI devices"; return 77; }
	program unplug "$UNIV_STATE/pull"
}

run_test "upci: loads, to be pulled out" 60 upci_loads
run_test "upci: pulled out of QEMU under traffic (adv07)" 200 pulled_out
run_test "upci: unloaded without a device" 30 rmmod univ_upci
