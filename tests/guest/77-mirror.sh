# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The mirror: messages that are sent without packets are shown as packets to a tap alone.
#
# needs: uroce
# runs in: guest coverage-uroce test-kernel-networks

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

UNIV_LINK=uroce setup_device seen && load_driver uroce || exit 1
export UNIV_TEST_DEVICE=seen
resources_mark
switch=/sys/kernel/debug/uroce/seen/mirror

# tapped NETDEV CASE...: runs the cases of a tap on NETDEV.
tapped() {
	local netdev=$1
	shift
	UNIV_TEST_TAP=$netdev program mirror "$@"
}

# Print the number of IPv4 packets that the host has received and sent.
sent() { awk '/^Ip: [0-9]/ { print $4, $11 }' /proc/net/snmp; }

# Only taps receive the mirrored packets.
mirrored() {
	local before status
	echo 1 >$switch
	before=$(sent)
	tapped seen-net
	status=$?
	echo 0 >$switch
	[ "$before" = "$(sent)" ] || { echo "there were packets: $before, then $(sent)"; return 1; }
	return $status
}

off() { tapped seen-net silent; }

only_this_one() {
	local status
	echo 1 >$switch
	tapped lo silent
	status=$?
	echo 0 >$switch
	return $status
}

# The same expectations hold for real packets, which pass lo since the host sends to itself.
as_by_packets() {
	local status
	echo 0 >/sys/module/uroce/parameters/local
	UNIV_TEST_WIRE=1 tapped lo
	status=$?
	echo 1 >/sys/module/uroce/parameters/local
	return $status
}

with_tcpdump() {
	local out=$UNIV_STATE/tcpdump tap status
	[ -x "$(command -v tcpdump)" ] || skip "there is no tcpdump"
	echo 1 >$switch
	tcpdump -lni seen-net udp port 4791 >"$out" 2>"$out.err" &
	tap=$!
	wait_until 10 grep -q listening "$out.err" || { cat "$out.err"; return 1; }
	program api_rc rc_send >/dev/null
	status=$?
	wait_until 10 grep -q 4791 "$out"
	kill $tap
	wait $tap
	echo 0 >$switch
	head -n 3 "$out"
	grep -q "10\.77\.[0-9]*\.1\.4791: UDP" "$out" || { cat "$out" "$out.err"; return 1; }
	return $status
}

# The mirror is switched on and off while messages are sent and a tap is open. Each switch patches the code of the sender.
# QEMU 7.2 once went on executing the breakpoint of such a patch for ever, so the switches are few.
switched() {
	local i client tap status
	[ -x "$(command -v tcpdump)" ] || skip "there is no tcpdump"
	tcpdump -ni seen-net -w "$UNIV_STATE/traffic" 2>/dev/null &
	tap=$!
	program seen rc_traffic uc_traffic ud_traffic >/dev/null &
	client=$!
	for ((i = 0; i < 10; i++)); do
		echo $((i % 2)) >$switch
		pause 0.1
	done
	echo 0 >$switch
	wait $client
	status=$?
	kill $tap
	wait $tap
	return $status
}

run_test "mirror: shows nothing while it is off" 30 off
run_test "mirror: every kind of message" 120 mirrored
run_test "mirror: shows messages of one device only" 30 only_this_one
run_test "mirror: real packets equal shown packets" 120 as_by_packets
run_test "mirror: tcpdump" 60 with_tcpdump
run_test "mirror: is switched under traffic" 60 switched
run_test "mirror: nothing is left behind" 20 resources_unchanged
remove_device seen
