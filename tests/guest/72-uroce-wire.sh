# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# uroce's messages over a network with faults: two devices in two namespaces, and every byte is compared.
#
# needs: uroce
# runs in: guest coverage-uroce test-kernel-networks

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

# shellcheck source=tests/user/network.sh
. "$UNIV_REPO/tests/user/network.sh"

need_far_and_near || exit 1

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
no_offloads() {
	local how
	for how in off on; do
		ethtool -K w-near gso $how tso $how && ip netns exec w-far ethtool -K w-far gro $how gso $how tso $how &&
			ethtool -K w-near gro $how || return
		pause 0.03
	done
}
# while_changing WHAT CASE...: checks every byte of the traffic while WHAT runs again and again. On a slow machine one
# run of WHAT takes nearly as long as the traffic, which is repeated then.
while_changing() {
	local what=$1 traffic changes=0
	shift
	while [ $changes -lt 3 ]; do
		LOSSY_MESSAGES=1500 program lossy "$@" &
		traffic=$!
		until group_leader_gone $traffic; do
			$what || { kill $traffic; return 1; }
			changes=$((changes + 1))
		done
		wait $traffic || return
	done
}
run_test "uroce wire: the MTU changes under traffic (adv26)" 200 while_changing other_mtus sends writes reads atomics
run_test "uroce wire: offloads change under traffic (adv26)" 200 while_changing no_offloads sends writes reads atomics
run_test "uroce wire: a good network, and a packet socket" 120 watched program lossy sends writes reads
over "uroce wire: a twentieth is lost" 200 loss 5% -- sends writes reads atomics
over "uroce wire: a tenth is lost, of many atomics at once" 100 loss 10% -- more_atomics
over "uroce wire: a tenth comes twice" 200 duplicate 10% -- sends writes reads atomics
over "uroce wire: a tenth overtakes" 200 delay 1ms reorder 90% 50% -- sends writes reads atomics
over "uroce wire: a twentieth is damaged" 200 corrupt 5% -- sends writes reads atomics
over "uroce wire: lost, duplicated and damaged at once" 200 loss 3% duplicate 3% corrupt 3% -- sends reads
# losing SELECTIVE PART: messages of which the far side loses this part of the packets, the same ones each time. Sets sent to
# the packets that this took, repeated to those that were named as missing and sent again, and needless to those that the
# far side had executed before.
losing() {
	local faults=$UNIV_LIBDIR/uroce-fault
	sent=$(hw_counter w-near sent_pkts)
	repeated=$(hw_counter w-near selective_repeat)
	needless=$(hw_counter w-far duplicate_request)
	echo "$1" >/sys/module/uroce/parameters/selective && "$faults" set w-far drop "$2" seed 7 || return
	LOSSY_MESSAGES=400 program lossy sends && "$faults" clear w-far || return
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
	losing 1 2% && [ "$repeated" -gt 30 ] && [ $((2 * (sent - least))) -lt "$back" ] && [ "$needless" -lt "$repeated" ]
}
run_test "uroce wire: only missing packets are repeated" 200 repeats_missing
going_back() {
	local status
	echo 0 >/sys/module/uroce/parameters/selective
	network loss 5% && faulty_network "loss 5%" sends writes reads atomics && network delay 1ms reorder 90% 50% &&
		faulty_network "delay 1ms reorder 90% 50%" sends reads
	status=$?
	echo 1 >/sys/module/uroce/parameters/selective
	return $status
}
run_test "uroce wire: the same without selective repeat" 300 going_back
network
over "uroce wire: attributes change while drained (SQD)" 60 -- changed
run_test "uroce wire: the source port follows the flow label" 60 program datagrams source_port source_number
# both_mtus MTU: a command that sets the MTU of both net devices
both_mtus() { echo "ip link set w-near mtu $1 && ip -n w-far link set w-far mtu $1"; }
other_datagrams() {
	bash -c "$(both_mtus 1500)" && DATAGRAMS_GROW=$(both_mtus 4200) DATAGRAMS_SHRINK=$(both_mtus 1500) program datagrams mtu_changes
	local status=$?
	bash -c "$(both_mtus 4200)" && return $status
}
run_test "uroce wire: datagrams follow the MTU of the port (adv26)" 60 other_datagrams
# frames TOOL: moves five messages of 256 KiB. Sets frames to those that the far net device gets and sends meanwhile, and counted to the
# packets that the far RDMA device counts, whose number does not depend on how they travel.
far_frames() { ip netns exec w-far sh -c 'cat /sys/class/net/w-far/statistics/[rt]x_packets' | awk '{ sum += $1 } END { print sum }'; }
far_counts() { echo $(($(hw_counter w-far rcvd_pkts) + $(hw_counter w-far sent_pkts))); }
listens_far() { [ -n "$(ip netns exec w-far ss -Hltn "sport = :$1")" ]; }
frames() {
	local server status tool=("$1" -x 1 -F -s 262144 -n 5)
	frames=$(far_frames)
	counted=$(far_counts)
	univ timeout 60 ip netns exec w-far "${tool[@]}" -d w-far >/dev/null &
	server=$!
	wait_until 20 listens_far 18515 && univ timeout 60 "${tool[@]}" -d w-near 10.89.0.2 >/dev/null
	status=$?
	wait $server && [ $status -eq 0 ] || return
	frames=$(($(far_frames) - frames))
	counted=$(($(far_counts) - counted))
	echo "$1: $frames frames, $counted packets"
}
segmentation() { ethtool -K w-near tx-udp-segmentation "$1" && ip netns exec w-far ethtool -K w-far tx-udp-segmentation "$1"; }
# They are 1280 packets of MTU 1024. As GSO packets they are a frame for each 60 packets, or for the 32 of a read's piece.
whole_or_cut() {
	local frames counted tool
	for tool in ib_write_bw ib_send_bw ib_read_bw; do
		segmentation on && frames $tool && [ "$frames" -lt 500 ] && [ "$counted" -gt 1280 ] || return
		segmentation off && frames $tool && [ "$frames" -gt 1280 ] && [ "$counted" -gt 1280 ] || return
	done
	local -x LOSSY_MESSAGES=100
	program lossy sends writes reads && segmentation on && program lossy sends writes reads
}
with_mtu_1500() {
	local status
	bash -c "$(both_mtus 1500)" && "$@"
	status=$?
	bash -c "$(both_mtus 4200)" && return $status
}
run_test "uroce wire: a long message is one frame of a veth, and packets of a card" 150 with_mtu_1500 whole_or_cut
# Packets to six neighbours that do not answer wait in the kernel's queues. They must not use up the limit of packets
# under way.
silent_neighbours() {
	local n status gone='ip -n w-near neigh flush all'
	for n in {101..106}; do
		ip -n w-far addr add 10.89.0.$n/24 dev w-far || return
		gone="ip -n w-far addr del 10.89.0.$n/24 dev w-far && $gone"
	done
	DATAGRAMS_SILENCE=$gone UNIV_TEST_GIDS="$near_and_far" program datagrams silent
	status=$?
	for n in {101..106}; do
		ip -n w-far addr del 10.89.0.$n/24 dev w-far 2>/dev/null
	done
	return $status
}
near_and_far="0000:0000:0000:0000:0000:ffff:0a59:0001 0000:0000:0000:0000:0000:ffff:0a59:0002"
run_test "uroce wire: some neighbours do not answer" 100 silent_neighbours
over "uroce wire: answers to queue pairs in error" 100 delay 50ms -- answers_in_error
over "uroce wire: a send queue is drained (SQD)" 100 delay 20ms -- drains
over "uroce wire: destroyed while half is lost (adv20)" 150 loss 50% -- destroyed
# fails_with LINE NETWORK CASE...: faulty_network fails, and says so.
fails_with() {
	local line=$1 out
	shift
	out=$(faulty_network "$@") && { echo "faulty_network passes:"; echo "$out"; return 1; }
	grep -qx "$line" <<<"$out" || { echo "no line like '$line':"; echo "$out"; return 1; }
}
# A filter that does not match, a network that loses no packets, and one that damages none.
without_effect() {
	roce_port=4792 network loss 5% && fails_with 'netem: 0 packets, 0 dropped' "loss 5%" sends || return
	network delay 1ms && fails_with 'netem: [1-9][0-9]* packets, 0 dropped' "loss 5%" sends &&
		fails_with 'corrupt: \([0-9]*\) noticed before, \1 now' "corrupt 5%" sends
}
run_test "uroce wire: a fault without an effect fails its test" 120 without_effect
network

run_test "uroce wire: nothing is left behind" 20 resources_unchanged
run_test "uroce wire: both devices are removed" 20 far_gone
run_test "uroce wire: the modules unload" 30 rmmod uroce
