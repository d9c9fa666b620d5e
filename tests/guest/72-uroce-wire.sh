# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# uroce's messages over a network with faults: two devices in two namespaces, and every byte is compared. 72-uroce-losses.sh
# has more networks.
#
# needs: uroce
# runs in: guest coverage-uroce test-kernel-networks

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

# shellcheck source=tests/user/network.sh
. "$UNIV_REPO/tests/user/network.sh"

need_far_and_near || exit 1

# The device loses its IPv6 addresses with an MTU below 1280, so these tests come first.
ipv6="fd89:0000:0000:0000:0000:0000:0000:0001 fd89:0000:0000:0000:0000:0000:0000:0002"
run_test "uroce wire: the peer's IPv6 address is resolved" 30 wait_until 20 resolved fd89::2
UNIV_TEST_GIDS=$ipv6 over "uroce wire: lost, duplicated and damaged over IPv6" 200 loss 3% duplicate 3% corrupt 3% -- sends reads
over "uroce wire: a good network" 120 -- sends writes reads atomics
over "uroce wire: tries are counted (adv19)" 120 -- counted_retries counted_rnr
# Each MTU has room for more than an RDMA packet of 1024 bytes.
other_mtus() {
	local mtu
	for mtu in 1200 9000 1500 4200; do
		ip link set w-near mtu $mtu && ip -n w-far link set w-far mtu $mtu || return
		pause 0.03
	done
}
run_test "uroce wire: the MTU changes under traffic (adv26)" 200 while_changing other_mtus sends writes reads atomics
over "uroce wire: a twentieth is lost" 200 loss 5% -- sends writes reads atomics
over "uroce wire: a tenth comes twice" 200 duplicate 10% -- sends writes reads atomics
over "uroce wire: a quarter is overtaken" 200 delay 1ms reorder 75% -- sends writes reads atomics
over "uroce wire: a twentieth is damaged" 200 corrupt 5% -- sends writes reads atomics
# losing SELECTIVE PART: messages of which the far side loses this part of the packets, the same ones each time. Sets sent to
# the packets that this took, repeated to those that were named as missing and sent again, and needless to those that the
# far side had executed before.
losing() {
	local faults=$UNIV_LIBDIR/uroce-fault
	sent=$(hw_counter w-near sent_pkts)
	repeated=$(hw_counter w-near selective_repeat)
	needless=$(hw_counter w-far duplicate_request)
	echo "$1" >/sys/module/uroce/parameters/selective && "$faults" set w-far drop "$2" seed 7 || return
	LOSSY_MESSAGES=300 program lossy sends && "$faults" clear w-far || return
	sent=$(($(hw_counter w-near sent_pkts) - sent))
	repeated=$(($(hw_counter w-near selective_repeat) - repeated))
	needless=$(($(hw_counter w-far duplicate_request) - needless))
	echo "selective=$1, $2 lost: $sent sent, $repeated repeated as missing, $needless needless"
}
# The packets beyond those that a network without losses takes are at most half as many.
repeats_missing() {
	local sent repeated needless least back
	network && losing 0 0 && [ "$repeated" -eq 0 ] || return
	least=$sent
	losing 0 2% && [ "$repeated" -eq 0 ] && [ "$sent" -gt "$least" ] || return
	back=$((sent - least))
	losing 1 2% && [ "$repeated" -gt 3 ] && [ $((2 * (sent - least))) -lt "$back" ] && [ "$needless" -lt "$repeated" ]
}
# A program in the other namespace holds packets until their sender has used the buffers again.
later_contents() {
	SNIFF_SECRET=183 univ ip netns exec w-far "$TEST_BIN/sniff" ip netns exec w-near "$TEST_BIN/lossy" reused
}
network
run_test "uroce wire: packets that are held do not show later contents of a buffer" 60 later_contents
run_test "uroce wire: only missing packets are repeated" 200 repeats_missing
network
over "uroce wire: attributes change while drained (SQD)" 60 -- changed
run_test "uroce wire: the source port follows the flow label" 60 program datagrams source_port source_number
run_test "uroce wire: a datagram does not reach a device that it is not sent to" 60 program datagrams other_device
other_datagrams() {
	bash -c "$(both_mtus 1500)" && DATAGRAMS_GROW=$(both_mtus 4200) DATAGRAMS_SHRINK=$(both_mtus 1500) program datagrams mtu_changes
	local status=$?
	bash -c "$(both_mtus 4200)" && return $status
}
run_test "uroce wire: datagrams follow the MTU of the port (adv26)" 60 other_datagrams
# opens NAMESPACE OPCODE: the number of frames that have arrived there and whose first packet has this opcode
opens() {
	ip netns exec "$1" nft list chain inet frames "op$2" | sed -n 's/.* counter packets \([0-9]*\) .*/\1/p'
}
# The opcode is the first byte behind the UDP header.
count_opcodes() {
	local ns op
	for ns in w-near w-far; do
		for op in 4 10 16; do
			ip netns exec $ns nft -f - <<-RULES || return
				table inet frames { chain op$op { type filter hook input priority 0; udp dport 4791 @th,64,8 $op counter; }; }
			RULES
		done
	done
}
no_count() { ip netns exec w-near nft delete table inet frames && ip netns exec w-far nft delete table inet frames; }
# whole TOOL NAMESPACE OPCODE: of messages of 32 packets, some are one packet, which begins and ends the message ("Only"),
# and none is one where each packet passes by itself, but for a few reads that are repeated for their last packet. The
# device counts the same packets.
whole() {
	local how before only counted
	for how in off on; do
		before=$(opens "$2" "$3")
		counted=$(hw_counter w-far rcvd_pkts)
		segmentation $how && between "$1" -x 1 -F -s 32768 -n 100 >/dev/null || return
		only=$(($(opens "$2" "$3") - before))
		counted=$(($(hw_counter w-far rcvd_pkts) - counted))
		echo "$1, segmentation $how: $only whole messages, $counted packets"
		if [ $how = off ]; then [ $only -lt 10 ] || return; else [ $only -gt 25 ] || return; fi
		[ "$1" = ib_read_bw ] || [ $counted -ge 3200 ] || return
	done
}
whole_messages() {
	local status
	count_opcodes || return
	whole ib_send_bw w-far 4 && whole ib_write_bw w-far 10 && whole ib_read_bw w-near 16
	status=$?
	no_count && segmentation on && return $status
}
run_test "uroce wire: a long message is one packet on a veth, and packets of the MTU for a card" 300 with_mtu_1500 whole_messages
over "uroce wire: answers to queue pairs in error" 100 delay 50ms -- answers_in_error
over "uroce wire: a send queue is drained (SQD)" 100 delay 20ms -- drains
over "uroce wire: destroyed while half is lost (adv20)" 150 loss 50% -- destroyed
network

run_test "uroce wire: nothing is left behind" 20 resources_unchanged
run_test "uroce wire: both devices are removed" 20 far_gone
run_test "uroce wire: the modules unload" 30 rmmod uroce
