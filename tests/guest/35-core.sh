# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Hostile processes against code of the core that no driver takes part in: mappings, and permissions of the node. One
# kind of device is enough. The udev rule of the node has the names that the module gives.
#
# needs: device
# runs in: guest-uroce test-kernel-rxe coverage-core coverage-library kernels-arm64 rt-kernel test-kernel-memory

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

need_univerbs || exit 1
resources_mark

# matched_by_rule: a guest has no udevd, so this compares what the rule asks of a node with what udev would be told of it.
matched_by_rule() {
	local rule path names=0
	rule=$(grep '^[^#]' "$UNIV_REPO/packaging/udev/90-univerbs.rules")
	[[ $rule =~ ^KERNEL==\"([^\"]+)\",\ SUBSYSTEM==\"([^\"]+)\",\ GROUP= ]] || { echo "the rule has another form: $rule"; return 1; }
	for path in /sys/class/univerbs/*/dev; do
		path=$(readlink -f "${path%/dev}")
		echo "${path##*/}, $(readlink "$path/subsystem"), $(grep DEVNAME "$path/uevent")"
		# shellcheck disable=SC2053 # the rule has a pattern
		[[ ${path##*/} == ${BASH_REMATCH[1]} ]] && [ "$(basename "$(readlink "$path/subsystem")")" = "${BASH_REMATCH[2]}" ] &&
			grep -qx "DEVNAME=infiniband/${path##*/}" "$path/uevent" && [ -c "/dev/infiniband/${path##*/}" ] || return
		names=$((names + 1))
	done
	[ $names -gt 0 ]
}

run_test "the udev rule matches the node" 20 matched_by_rule
user_test mmaps 120
user_test perms 60

run_test "nothing is left behind" 20 resources_unchanged
