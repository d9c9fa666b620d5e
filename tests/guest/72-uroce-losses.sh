# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# uroce's messages over more networks than those of 72-uroce-wire.sh: net devices that change, several faults at once, go-back-N,
# messages cut for a card, neighbours that do not answer, and networks without an effect, which the tests must notice.
#
# needs: uroce
# runs in: networks coverage-uroce test-kernel-networks

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

# shellcheck source=tests/user/network.sh
. "$UNIV_REPO/tests/user/network.sh"

need_far_and_near || exit 1

no_offloads() {
	local how
	for how in off on; do
		ethtool -K w-near gso $how tso $how && ip netns exec w-far ethtool -K w-far gro $how gso $how tso $how &&
			ethtool -K w-near gro $how || return
		pause 0.03
	done
}
run_test "uroce losses: offloads change under traffic (adv26)" 200 while_changing no_offloads sends writes reads atomics
run_test "uroce losses: a good network, and a packet socket" 120 watched program lossy sends writes reads
over "uroce losses: a tenth is lost, of many atomics at once" 100 loss 10% -- more_atomics
over "uroce losses: lost, duplicated and damaged at once" 200 loss 3% duplicate 3% corrupt 3% -- sends reads
going_back() {
	local status
	echo 0 >/sys/module/uroce/parameters/selective
	network loss 5% && faulty_network "loss 5%" sends writes reads atomics && network delay 1ms reorder 75% &&
		faulty_network "delay 1ms reorder 75%" sends reads
	status=$?
	echo 1 >/sys/module/uroce/parameters/selective
	return $status
}
run_test "uroce losses: packets are lost or overtaken, without selective repeat" 300 going_back
network
cut_or_whole() {
	local -x LOSSY_MESSAGES=40
	segmentation off && program lossy sends writes reads && segmentation on && program lossy sends writes reads
}
run_test "uroce losses: MTU 1500, packets by themselves and in one piece" 300 with_mtu_1500 cut_or_whole
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
run_test "uroce losses: some neighbours do not answer" 100 silent_neighbours
# fails_with LINE NETWORK CASE...: faulty_network fails, and says so.
fails_with() {
	local line=$1 out
	shift
	out=$(faulty_network "$@") && { echo "faulty_network passes:"; echo "$out"; return 1; }
	grep -qx "$line" <<<"$out" || { echo "no line like '$line':"; echo "$out"; return 1; }
}
# A filter that does not match, and a network that loses no packets, keeps their order and damages none.
without_effect() {
	roce_port=4792 network loss 5% && fails_with 'netem: 0 packets, 0 dropped' "loss 5%" sends || return
	network delay 1ms && fails_with 'netem: [1-9][0-9]* packets, 0 dropped' "loss 5%" sends &&
		fails_with 'reorder: \([0-9]*\) noticed before, \1 now' "delay 1ms reorder 75%" sends &&
		fails_with 'corrupt: \([0-9]*\) noticed before, \1 now' "corrupt 5%" sends
}
run_test "uroce losses: a fault without an effect fails its test" 120 without_effect
network

run_test "uroce losses: nothing is left behind" 20 resources_unchanged
run_test "uroce losses: both devices are removed" 20 far_gone
run_test "uroce losses: the modules unload" 30 rmmod uroce
