# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Faults that uroce-fault sets and takes back, some of them by a script, while programs of others run; and by packets the faults that
# 73-faults.sh has within one host.
#
# needs: uroce
# runs in: networks coverage-uroce coverage-library test-kernel-networks

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

# shellcheck source=tests/user/faults.sh
. "$UNIV_REPO/tests/user/faults.sh"

need_f0 || exit 1

echo 0 >/sys/module/uroce/parameters/local
FAULT_WIRE=1 faults_over "faults, packets"
echo 1 >/sys/module/uroce/parameters/local

# The server of ib_write_bw stays in RTR, since it sends nothing.
both_connected() { [ "$(rdma resource show qp link f0/1 | grep -c 'type RC.*state RT[RS]')" -ge 2 ]; }

# An unmodified program writes while a script takes the port down for 200 ms, and does not notice: its requests are
# repeated. ibv_asyncwatch sees each change of the port. The script starts when the program has its connection and
# ibv_asyncwatch the device.
port_flaps() {
	local events=$UNIV_LOGDIR/flaps watcher client status
	univ stdbuf -oL ibv_asyncwatch -d f0 >"$events" 2>&1 &
	watcher=$!
	wait_until 20 test -s "$events" || return
	univ ib_write_bw -d f0 -x 1 -D 6 -u 17 >"$UNIV_LOGDIR/flaps-server" 2>&1 &
	wait_until 20 tcp_listens 18515 || return
	univ ib_write_bw -d f0 -x 1 -D 6 -u 17 127.0.0.1 >"$UNIV_LOGDIR/flaps-client" 2>&1 &
	client=$!
	wait_until 20 both_connected &&
		printf '%s\n' '# down for 200 ms, twice' '1s set port_down 1' '1200ms set port_down 0' '2s set port_down 1' \
		'2.2s set port_down 0' '2300ms set rnr #1' '2.5s run echo "the script ran a command"' '3s clear' |
		fault_tool script f0 >"$UNIV_LOGDIR/flaps-script" 2>&1
	wait $client
	status=$?
	kill $watcher
	wait
	[ $status -eq 0 ] || { cat "$UNIV_LOGDIR/flaps-client"; return 1; }
	cat "$UNIV_LOGDIR/flaps-script" "$events"
	grep -q 'the script ran a command' "$UNIV_LOGDIR/flaps-script" && [ "$(grep -c IBV_EVENT_PORT_ERR "$events")" -eq 2 ] &&
		[ "$(grep -c IBV_EVENT_PORT_ACTIVE "$events")" -eq 2 ] && [ "$(fault_tool show f0)" = "f0 $quiet" ]
}

# A script silences the peer of a running program, whose requests fail after their retries. Later a new connection works.
peer_goes_silent() {
	local server status
	univ ib_write_bw -d f0 -x 1 -D 20 -u 14 >"$UNIV_LOGDIR/silent-server" 2>&1 &
	server=$!
	wait_until 20 tcp_listens 18515 || return
	echo '1s set drop 100%' | fault_tool script f0 &
	univ ib_write_bw -d f0 -x 1 -D 20 -u 14 127.0.0.1 >"$UNIV_LOGDIR/silent-client" 2>&1
	status=$?
	kill $server
	wait
	fault_tool clear f0
	# The status of a completion whose retries are used up is 12.
	[ $status -ne 0 ] && grep -q 'status 12' "$UNIV_LOGDIR/silent-client" ||
		{ echo "status $status"; cat "$UNIV_LOGDIR/silent-client"; return 1; }
	still_works
}

rping_listens() { rdma resource show cm_id | grep -q 'LISTEN.*rping'; }
port_active() { grep -q ACTIVE "/sys/class/infiniband/$1/ports/1/state" && gid_ready "$1"; }

# Failover: rping over a device whose peer went silent fails in bounded time, and its caller reaches the server over the
# second device. Then the first device is reachable again.
failover() {
	local address other path=()
	setup_device f1 || return
	address=$(ip -4 -o addr show dev f0-net | awk '{ sub("/.*", "", $4); print $4 }')
	other=$(ip -4 -o addr show dev f1-net | awk '{ sub("/.*", "", $4); print $4 }')
	univ rping -s -P -a 0.0.0.0 >"$UNIV_LOGDIR/failover-server" 2>&1 &
	local server=$!
	reach() { univ timeout $((8 * ${UNIV_SLOW:-1})) rping -c -C 3 -a "$1" >>"$UNIV_LOGDIR/failover-client" 2>&1; }
	wait_until 20 rping_listens && reach "$address" || { cat "$UNIV_LOGDIR/failover-client"; return 1; }
	fault_tool set f0 port_down 1 || return
	for path in "$address" "$other"; do
		reach "$path" && break
	done
	[ "$path" = "$other" ] || { echo "the first device was reachable, or no device was"; return 1; }
	fault_tool set f0 port_down 0 && wait_until 20 port_active f0 && reach "$address" || return
	kill $server
	wait $server 2>/dev/null
	remove_device f1
}

# Devices are created, removed and renamed while the tool lists them.
netlink_races() {
	local n=0 asking
	{ while :; do fault_tool; fault_tool set f8 drop 5; fault_tool set f7 port_down 1; done; } >/dev/null 2>&1 &
	asking=$!
	while ((n++ < 8)); do
		setup_device f8 && rdma dev set f8 name f7 && rdma link del f7 || return
	done
	kill $asking
	wait $asking 2>/dev/null
	ip link del f8-net && fault_tool show f0
}

run_test "faults over netlink: devices are created and removed meanwhile" 90 netlink_races
run_test "faults: a script takes the port down under ib_write_bw" 120 port_flaps
echo 0 >/sys/module/uroce/parameters/local
run_test "faults: a script makes the peer silent under ib_write_bw" 120 peer_goes_silent
echo 1 >/sys/module/uroce/parameters/local
run_test "faults: failover from a device to another" 180 failover
run_test "fault scripts: nothing is left behind" 20 resources_unchanged
remove_device f0
run_test "fault scripts: the modules unload" 30 rmmod uroce
