# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# uroce's packets: two devices in two namespaces, and a network between them.
#
# needs: uroce
# runs in: test-kernel-uroce coverage test-kernel-networks

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

# shellcheck source=tests/user/network.sh
. "$UNIV_REPO/tests/user/network.sh"

need_far_and_near || exit 1

# over NAME SECONDS NETWORK -- CASE...: runs the cases over NETWORK, as the test NAME.
over() {
	local name=$1 limit=$2 bad=()
	shift 2
	while [ "$1" != -- ]; do
		bad+=("$1")
		shift
	done
	shift
	network "${bad[@]}" || { report "not ok" "$name"; return; }
	if [ ${#bad[@]} -eq 0 ]; then
		run_test "uroce wire: $name" "$limit" program lossy "$@"
	else
		run_test "uroce wire: $name" "$limit" bad_network "${bad[0]}" "$@"
	fi
}

# A bad network without an effect proves nothing: check that netem had packets, and that the devices' counters show its
# effect.
bad_network() {
	local kind=$1 noticed=() before had dropped
	case $kind in
	# Queue pairs that are destroyed do not wait for a response. A loss is detected by the next packet, if there is
	# one.
	loss) [ "$*" = "loss destroyed" ] || noticed=(ack_timeout out_of_seq_request duplicate_request) ;;
	duplicate) noticed=(duplicate_request) ;;
	delay) ;;
	corrupt) noticed=(rcvd_icrc_err) ;;
	*) echo "nobody knows what $kind is noticed by"; return 1 ;;
	esac
	shift
	before=$(noticed_by_both)
	program lossy "$@" || return
	read -r had dropped < <(netem_had)
	echo "netem: $had packets, $dropped dropped; ${noticed[*]}: $before before, $(noticed_by_both) now"
	[ $had -gt 0 ] || return
	[ "$kind" != loss ] || [ $dropped -gt 0 ] || return
	[ ${#noticed[@]} -eq 0 ] || [ "$(noticed_by_both)" -gt "$before" ]
}

noticed_by_both() {
	local sum=0 name
	for name in ${noticed[@]+"${noticed[@]}"}; do
		sum=$((sum + $(hw_counter w-near "$name") + $(hw_counter w-far "$name")))
	done
	echo $sum
}

over "a good network" 120 -- sends writes reads atomics
over "tries are counted (adv19)" 120 -- counted_retries counted_rnr
packet_socket() { [ "$(wc -l </proc/net/packet)" -gt 1 ]; }
# A packet socket gets a copy of each packet.
watched() {
	local watcher status
	python3 -c "$(printf '%s\n' 'import socket' 's = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))' \
		'while True: s.recv(65536)')" &
	watcher=$!
	wait_until 20 packet_socket || return
	program lossy sends writes reads
	status=$?
	kill $watcher
	return $status
}
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
run_test "uroce wire: a good network, and a packet socket" 120 watched
over "a twentieth is lost" 200 loss 5% -- sends writes reads atomics
over "a tenth is lost, of many atomics at once" 100 loss 10% -- more_atomics
over "a tenth comes twice" 200 duplicate 10% -- sends writes reads atomics
over "a tenth overtakes" 200 delay 1ms reorder 90% 50% -- sends writes reads atomics
over "a twentieth is damaged" 200 corrupt 5% -- sends writes reads atomics
network
run_test "uroce wire: packets (adv21)" 300 program packets
run_test "uroce wire: packets, UD (adv21)" 150 program packets_ud
run_test "uroce wire: packets, XRC (adv21)" 300 program packets_xrc
# A response is sent again while the first one may still be queued, and one skb cannot be queued twice.
twice() {
	local status
	"$UNIV_LIBDIR/uroce-fault" set w-near duplicate 100% || return
	program packets open forged_answers close && program lossy reads atomics answers_in_error
	status=$?
	"$UNIV_LIBDIR/uroce-fault" clear w-near && return $status
}
run_test "uroce wire: each packet arrives twice (faults)" 100 twice
over "attributes change while drained (SQD)" 60 -- changed
run_test "uroce wire: the source port follows the flow label" 60 program datagrams source_port
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
over "answers to queue pairs in error" 100 delay 50ms -- answers_in_error
# The delay is longer than the test takes to notice that a read has begun, so most of the read is still to be sent.
network delay 300ms
run_test "uroce wire: in the error state no response is sent" 60 program packets open read_ends close
network
over "a send queue is drained (SQD)" 100 delay 20ms -- drains
over "destroyed while half is lost (adv20)" 150 loss 50% -- destroyed
network

run_test "uroce wire: nothing is left behind" 20 resources_unchanged
run_test "uroce wire: both devices are removed" 20 far_gone
run_test "uroce wire: the modules unload" 30 rmmod uroce
