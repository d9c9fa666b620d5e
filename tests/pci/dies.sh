# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The model of the device dies under traffic: a fatal event, and nothing hangs. tests/vm/upci kills the model when the
# file $UNIV_LOGDIR/kill is made.

# shellcheck source=tests/pci/device.sh
. "$UNIV_REPO/tests/pci/device.sh"
upci_loads || exit 1
command_until_gone kill "$UNIV_LOGDIR/kill"

# The programs that wait for messages, by events and by polling, end as well.
device_dies() {
	local programs=() options waiting
	for options in '-e -p 18701' '-p 18702'; do
		# shellcheck disable=SC2086 # words
		univ ibv_rc_pingpong -d upci0 -n 100000000 $options >"$UNIV_STATE/server.out" 2>&1 &
		programs+=($!)
		wait_until 20 tcp_listens "${options##* }" || return
		# shellcheck disable=SC2086 # words
		univ stdbuf -oL ibv_rc_pingpong -d upci0 -n 100000000 $options 127.0.0.1 >"$UNIV_STATE/client.out" 2>&1 &
		programs+=($!)
		# The client has the answer of the server.
		wait_until 20 grep -q "remote address" "$UNIV_STATE/client.out" || return
	done
	univ stdbuf -oL ibv_asyncwatch -d upci0 >"$UNIV_STATE/events" 2>&1 &
	programs+=($!)
	wait_until 20 grep -q "async event FD" "$UNIV_STATE/events" || return
	sleep 1
	program bells gone "$UNIV_STATE/kill" || return
	for waiting in "${programs[@]}"; do
		wait_until 30 group_leader_gone "$waiting" || { echo "a program is stuck"; kill "${programs[@]}"; return 1; }
	done
	cat "$UNIV_STATE/events"
	grep -qiE 'fatal|catastrophic' "$UNIV_STATE/events"
}

run_test "upci: the device dies under traffic" 200 device_dies
run_test "upci: the driver of a dead device is unloaded" 60 rmmod univ_upci
