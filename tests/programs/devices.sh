# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Programs that list devices and their attributes.

# shellcheck source=lib.sh
. "$UNIV_REPO/tests/programs/lib.sh"

guid_of() { sed 's/://g' "/sys/class/infiniband/$1/node_guid"; }

devices_lists() {
	local out
	out=$(on_stack "$STACK" ibv_devices) || return
	echo "$out"
	grep -Eq "^ *$DEVICE +.*$(guid_of "$DEVICE")" <<<"$out"
}

devinfo_verbose() {
	local out
	out=$(on_stack "$STACK" ibv_devinfo -v -d "$DEVICE") || return
	echo "$out"
	grep -Eq "^hca_id:.*$DEVICE" <<<"$out" &&
		grep -Eq "state:.*PORT_ACTIVE" <<<"$out" &&
		grep -Eq "link_layer:.*Ethernet" <<<"$out" &&
		grep -Eq "GID\[ *1\]:.*::ffff:10\." <<<"$out"
}

devinfo_list() { on_stack "$STACK" ibv_devinfo -l | grep -w "$DEVICE"; }

# The identity of the device must be the same over both stacks. Limits may be lower over univerbs, never higher.
devinfo_agrees() {
	local stock ours
	[ "$STACK" = univerbs ] && [ "$UNIV_LINK" = rxe ] || skip "needs two stacks on one device"
	stock=$(ibv_devinfo -v -d "$DEVICE") || return
	ours=$(univ ibv_devinfo -v -d "$DEVICE") || return
	diff <(identity <<<"$stock") <(identity <<<"$ours") || return
	diff <(printf '%s\n' "$stock") <(printf '%s\n' "$ours") || :
	diff <(limits <<<"$stock") <(limits <<<"$ours") | higher_limits
}

identity() { grep -E 'hca_id|transport|fw_ver|guid|vendor|hw_ver|phys_port|port:|state|mtu|lid|lmc|link_layer|GID'; }
limits() { awk '$1 ~ /^max_.*:$/ && $2 ~ /^[0-9]+$/ { print $1, $2 }'; }

higher_limits() {
	awk '$1 == "<" { stock[$2] = $3 }
	     $1 == ">" && $3 > stock[$2] { print "over univerbs", $2, $3, "is more than", stock[$2]; bad = 1 }
	     END { exit bad }'
}

# The test has a device of its own, because setting the link down removes GIDs.
asyncwatch_events() {
	local out=$pairs_dir/watch.out pid status=0
	setup_device rxe9 || return
	on_stack "$STACK" exec_server ibv_asyncwatch -d rxe9 >"$out" 2>&1 &
	pid=$!
	wait_until 10 grep -q "async event FD" "$out" || status=1
	ip link set rxe9-net down
	wait_until 10 grep -q PORT_ERR "$out" || status=1
	ip link set rxe9-net up
	wait_until 10 grep -q PORT_ACTIVE "$out" || status=1
	kill -INT "$pid"
	wait "$pid"
	cat "$out"
	remove_device rxe9 || status=1
	return $status
}

try "ibv_devices" 20 devices_lists
try "ibv_devinfo -l" 20 devinfo_list
try "ibv_devinfo -v" 20 devinfo_verbose
try "ibv_devinfo -v agrees with the stock stack's" 20 devinfo_agrees
try "ibv_asyncwatch sees the link go and come" 60 asyncwatch_events
