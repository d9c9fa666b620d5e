# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# uroce for tests of applications: fault injection, counters, and tracepoints. 73-fault-scripts.sh has faults that change while
# programs of others run, and the faults of one host once more by packets.
#
# needs: uroce
# runs in: guest coverage-uroce coverage-library test-kernel-networks

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

# shellcheck source=tests/user/faults.sh
. "$UNIV_REPO/tests/user/faults.sh"

need_f0 || exit 1

faults_over "faults, one host"
run_test "faults, one host: there are no packets to drop" 60 counted_fault drop local_msgs local_bytes
run_test "faults: a verb fails at its second call" 60 counted_fault verb_fails fault_verb
run_test "faults: each verb fails" 60 program faults each_verb other_verbs
run_test "faults: requests that are not well-formed" 30 program fault_messages

echo 0 >/sys/module/uroce/parameters/local
export FAULT_WIRE=1
run_test "faults, packets: packets are lost" 60 counted_fault drop fault_drop retry_exceeded_err sent_pkts sent_bytes
run_test "faults, packets: packets are damaged" 60 counted_fault corrupt fault_corrupt rcvd_icrc_err
run_test "faults, packets: packets are duplicated" 60 counted_fault duplicate fault_duplicate duplicate_request rcvd_pkts rcvd_bytes
run_test "faults, packets: all kinds at low rates" 120 program faults survives
unset FAULT_WIRE
echo 1 >/sys/module/uroce/parameters/local

# A knob that is not 0, or that a process has open, does not prevent the removal of the device.
knobs_go() {
	echo 5 >$FAULT_DIR/drop_ppm && ! echo 1000001 2>/dev/null >$FAULT_DIR/drop_ppm || return
	exec 7<$FAULT_DIR/rnr_ppm
	rdma link del f0 && [ ! -e $FAULT_DIR ] || return
	! cat <&7 2>/dev/null || return
	exec 7<&-
	setup_device f0 && [ "$(cat $FAULT_DIR/drop_ppm)" = 0 ]
}

# ---- the same knobs over netlink

knob() { cat "$FAULT_DIR/$1"; }

# refused WORDS COMMAND...: COMMAND fails and prints WORDS.
refused() {
	local words=$1 said
	shift
	said=$("$@" 2>&1) && { echo "no refusal: $said"; return 1; }
	[[ $said == *"$words"* ]] || { echo "said: $said"; return 1; }
}

netlink_knobs() {
	local all="drop 10000 duplicate 500000 corrupt 1 delay 3 rnr 4 remote_error 5 completion_error 6"
	all+=" delay_us 7 port_down 1"
	# shellcheck disable=SC2086
	fault_tool set f0 ${all/10000/1%} && [ "$(fault_tool show f0)" = "f0 $all" ] || return
	[ "$(knob drop_ppm) $(knob remote_error_ppm) $(knob delay_us) $(knob port_down)" = "10000 5 7 1" ] || return
	grep -q DOWN /sys/class/infiniband/f0/ports/1/state || return
	# Faults that the command does not name keep their values.
	fault_tool set f0 rnr 0 && fault_tool | grep -qx "f0 ${all/rnr 4/rnr 0}" || return
	# The tool shows changes that were made through debugfs.
	echo 8 >"$FAULT_DIR/rnr_ppm" && fault_tool show | grep -qx "f0 ${all/rnr 4/rnr 8}" || return
	fault_tool clear f0 && [ "$(knob drop_ppm) $(knob rnr_ppm) $(knob port_down)" = "0 0 0" ] &&
		grep -q ACTIVE /sys/class/infiniband/f0/ports/1/state
}

# Values that are not rates; "clear" keeps the mirror, which is not a fault.
netlink_words() {
	fault_tool set f0 delay_us 1000 drop '#5-7' rnr '#2' qp 17 seed 4 status rnr_retry_exc verb create_qp verb_errno EPERM mirror 1 ||
		return
	[ "$(fault_tool show f0)" = "f0 drop #5-7 duplicate 0 corrupt 0 delay 0 rnr #2 remote_error 0 completion_error 0 \
delay_us 1000 port_down 0 qp 17 seed 4 status rnr_retry_exc verb create_qp verb_at 1 verb_errno EPERM mirror 1" ] &&
		[ "$(knob mirror)" = 1 ] || { fault_tool show f0; return 1; }
	# A rate replaces the numbers, and the other way round.
	fault_tool set f0 drop 3 && fault_tool show f0 | grep -q 'drop 3 ' && fault_tool set f0 drop '#1' &&
		fault_tool show f0 | grep -q 'drop #1 ' && [ "$(knob drop_ppm)" = 0 ] || return
	fault_tool clear f0 && [ "$(fault_tool show f0)" = "f0 $quiet mirror 1" ] && fault_tool set f0 mirror 0 &&
		[ "$(fault_tool show f0)" = "f0 $quiet" ] || { fault_tool show f0; return 1; }
}

# The JSON output has all values of all devices, for other programs.
netlink_json() {
	local all
	fault_tool set f0 drop '#5-7' corrupt 2 verb reg_mr || return
	all=$(fault_tool --json) && fault_tool clear f0 || return
	python3 -c '
import json, sys
f0 = next(d for d in json.loads(sys.argv[1]) if d["device"] == "f0")
assert f0["drop"] == {"first": 5, "last": 7} and f0["corrupt"] == 2 and f0["rnr"] == 0, f0
assert f0["verb"] == "reg_mr" and f0["verb_errno"] == "ENOMEM" and f0["status"] == "general", f0' "$all"
}

# ---- scripts

changes_seen() { [ "$(grep -c IBV_EVENT_GID_CHANGE "$1")" -ge 2 ]; }

# A script takes the address of the net device away and gives it back, and with it a GID. ibv_asyncwatch sees both changes.
gid_moves() {
	local events=$UNIV_LOGDIR/gid-events address watcher status
	address=$(ip -4 -o addr show dev f0-net | awk '{ print $4 }')
	univ stdbuf -oL ibv_asyncwatch -d f0 >"$events" 2>&1 &
	watcher=$!
	wait_until 20 test -s "$events" && printf '%s\n' "0s run ip addr del $address dev f0-net" \
		"3s run cat /sys/class/infiniband/f0/ports/1/gids/1" "3s run ip addr add $address dev f0-net" |
		fault_tool script f0 >"$UNIV_LOGDIR/gid-script" 2>&1
	wait_until 20 gid_ready f0 && wait_until 20 changes_seen "$events"
	status=$?
	kill $watcher
	wait
	cat "$UNIV_LOGDIR/gid-script" "$events"
	[ $status -eq 0 ] && ! grep -q ffff: "$UNIV_LOGDIR/gid-script" && still_works
}

# A wrong line is refused by its number before any line takes effect.
script_refused() {
	bad_script() { printf '0s set drop 5\n\n%s\n' "$1" | fault_tool script f0; }
	refused "line 3: a line begins with a time" bad_script 'set drop 1' &&
		refused "line 3: a line begins with a time" bad_script '5 set drop 1' &&
		refused "line 3: a time is followed by" bad_script '1s jump' &&
		refused "rain: there is no such fault" bad_script '1s set rain 1' &&
		refused "line 3: set takes faults" bad_script '1s set' && refused "No such file" fault_tool script f0 /no/such/file || return
	printf '1s set drop 1\n0s clear\n' | refused "before that of the previous line" fault_tool script f0 || return
	[ "$(fault_tool show f0)" = "f0 $quiet" ]
}

# A request sets either all of its values or none, and a refusal names the reason.
netlink_refuses() {
	refused "out of range" fault_tool set f0 rnr 5 drop 1000001 &&
		refused "need 1 <= first <= last" fault_tool set f0 drop '#0-3' && refused "need 1 <= first <= last" fault_tool set f0 drop '#4-3' &&
		refused "need 1 <= first <= last" fault_tool set f0 rnr 5 drop '#4' drop 7 &&
		refused "out of range" fault_tool set f0 verb 99 && refused "no such value" fault_tool set f0 verb dance &&
		refused "out of range" fault_tool set f0 verb_errno 134 && refused "a number" fault_tool set f0 drop '#' &&
		refused "out of range" fault_tool set f0 status 22 && refused "out of range" fault_tool set f0 mirror 2 &&
		refused "out of range" fault_tool set f0 delay_us 10000001 &&
		refused "out of range" fault_tool set f0 rnr 5 port_down 2 && [ "$(knob rnr_ppm)" = 0 ] &&
		refused "no uroce device" fault_tool set rxe9 drop 1 && refused "no uroce device" fault_tool show lo &&
		refused "no such fault" fault_tool set f0 rain 1 && refused "a number" fault_tool set f0 drop lots
}

# A user may read the values. Root of another user namespace sees devices but may not change their values. For devices
# that belong to one namespace each, see 78-exclusive.sh.
netlink_permits() {
	setpriv --reuid 65534 --regid 65534 --clear-groups "$UNIV_LIBDIR/uroce-fault" show f0 | grep -q '^f0 drop 0' &&
		refused CAP_NET_ADMIN setpriv --reuid 65534 --regid 65534 --clear-groups "$UNIV_LIBDIR/uroce-fault" set f0 drop 1 &&
		refused CAP_NET_ADMIN unshare -rn "$UNIV_LIBDIR/uroce-fault" set f0 drop 1 && [ "$(knob drop_ppm)" = 0 ]
}

run_test "faults over netlink: values are set and shown" 60 netlink_knobs
run_test "faults over netlink: numbers, seed, status, verbs" 60 netlink_words
run_test "faults over netlink: JSON" 60 netlink_json
run_test "faults over netlink: invalid requests are refused" 60 netlink_refuses
run_test "faults over netlink: permissions" 60 netlink_permits
run_test "faults: a script moves a GID" 60 gid_moves
run_test "faults: a wrong script is refused" 60 script_refused

# Tracepoints report the objects of a program, and the state changes of its queue pair.
traced() {
	local dir=/sys/kernel/tracing event
	mountpoint -q $dir || mount -t tracefs none $dir || return
	[ -d $dir/events/uroce ] || { echo "this kernel has no tracepoints"; return 77; }
	echo >$dir/trace && echo 1 >$dir/events/uroce/enable || return
	program faults rnr port_down
	echo 0 >$dir/events/uroce/enable
	for event in 'uroce_qp_create: dev=f0 qpn=[0-9]* type=RC' 'uroce_qp_destroy: dev=f0' 'uroce_qp_state:.* RTR -> RTS' \
			'uroce_qp_state:.* RTS -> ERR' 'uroce_transport:.* rcvd_rnr_err' 'uroce_link: dev=f0 down' \
			'uroce_link: dev=f0 up' 'uroce_mr_create: dev=f0' 'uroce_mr_destroy: dev=f0'; do
		grep -q "$event" $dir/trace || { echo "no $event in:"; tail -n 30 $dir/trace; return 1; }
	done
}
run_test "faults: tracepoints report them" 60 traced
run_test "faults: nothing is left behind" 20 resources_unchanged
run_test "faults: the files of a device are removed with it" 30 knobs_go
run_test "faults: rdma statistic shows them" 30 eval 'rdma statistic show link f0/1 | grep -q fault_drop'
remove_device f0
run_test "faults: the modules unload" 30 rmmod uroce
