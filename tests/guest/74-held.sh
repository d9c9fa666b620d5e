# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# uroce's packets held by other programs. A program holds packets in an nfnetlink queue and then reinjects them: they
# arrive in its system call, where bottom halves are enabled. Kernels with CONFIG_DEBUG_NET and CONFIG_DEBUG_PREEMPT
# report operations that are not allowed there. A sniffer holds packets without reading them.
#
# needs: uroce
# runs in: test-kernel-uroce test-kernel-moves coverage-uroce test-kernel-networks

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"
# shellcheck source=tests/user/network.sh
. "$UNIV_REPO/tests/user/network.sh"

queue=74 state=/proc/net/netfilter/nfnetlink_queue

# rule NAMESPACE: sends packets that arrive there to the queue.
rule() {
	ip netns exec "$1" nft -f - <<-RULE
		table inet held {
			chain in {
				type filter hook input priority 0;
				udp dport 4791 queue to $queue
			}
		}
	RULE
}

no_rule() { ip netns exec "$1" nft delete table inet held; }

# The modules may be built in.
modprobe -a nfnetlink_queue nf_tables nft_queue 2>/dev/null
[ -e $state ] || skip "this kernel has no queues of netfilter's for programs (nfnetlink_queue)"
# shellcheck disable=SC2119
load_univerbs || exit 1
UNIV_LINK=uroce load_link || exit 1
far_and_near || { fails "two namespaces with a device each"; exit 1; }
if ! rule w-near || ! rule w-far; then
	far_gone
	skip "this kernel has no rules that queue packets (nft_queue)"
fi
export UNIV_TEST_DEVICE=w-near UNIV_TEST_PEER=w-far UNIV_LINK=uroce LOSSY_TIMEOUT=16 LOSSY_MESSAGES=60
resources_mark

# held [OPTION]... -- PROGRAM [CASE]...: runs a program of tests/user while the packets of both namespaces are held;
# sets $said.
held() {
	local options=() status
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	said=$(univ ip netns exec w-far "$TEST_BIN/nfqueue" "${options[@]}" $queue \
		ip netns exec w-near "$TEST_BIN/nfqueue" "${options[@]}" $queue "$TEST_BIN/$2" "${@:3}" 2>&1)
	status=$?
	echo "$said"
	return $status
}

super_packets='[1-9][0-9]* of them super-packets'

held_whole() { held -- lossy "$@" && [[ $said =~ $super_packets ]]; }

held_cut() { held -c -- lossy "$@" && [[ ! $said =~ $super_packets ]]; }

# A program sees the same results by copying, without a packet, and by packets that are held; the device sends to
# itself. All of it runs on one processor: each processor has its own backlog, so packets of a process that migrates
# overtake each other, and UC permits that.
same_as_copied() {
	local local=/sys/module/uroce/parameters/local status
	program seen "$@" >"$UNIV_STATE/seen.copied" || return
	echo 0 >$local
	univ taskset 1 "$TEST_BIN/nfqueue" $queue "$TEST_BIN/seen" "$@" >"$UNIV_STATE/seen.held"
	status=$?
	echo 1 >$local
	[ $status -eq 0 ] && diff -u --label copied --label held "$UNIV_STATE/seen.copied" "$UNIV_STATE/seen.held"
}

# No program reads the queue any more, and the rules are still there: the kernel drops the packets.
nobody_holds() {
	LOSSY_TIMEOUT=8 LOSSY_MESSAGES=1 program lossy reads | grep -F "transport retry counter exceeded"
}

no_rules() { no_rule w-near && no_rule w-far && program lossy sends writes && still_works; }

# A program on the route cuts super-packets in the middle of their second packet. The pages of the payload belong to the
# sender, and bytes that are appended to packets late must not be written to these pages. The cut packets are lost; they
# are repeated one by one.
truncated() {
	local status
	ip netns exec w-near nft -f - <<-RULE || return
		table inet short {
			chain out {
				type filter hook output priority 0;
				udp dport 4791 ip length > 6000 counter ip length set 6000
			}
		}
	RULE
	program lossy writes sends
	status=$?
	ip netns exec w-near nft list table inet short | grep -E 'counter packets [1-9]' || { echo "none was cut"; status=1; }
	ip netns exec w-near nft delete table inet short
	return $status
}

# Messages that are one packet, and runs of packets
cut_short() {
	local status
	truncated && segmentation off && truncated
	status=$?
	segmentation on && return $status
}

# sniffed PROGRAM [ARG]...: runs PROGRAM while a sniffer in each namespace keeps all packets.
sniffed() {
	univ ip netns exec w-far "$TEST_BIN/sniff" ip netns exec w-near "$TEST_BIN/sniff" "$@"
}

# Modules can be unloaded although a sniffer keeps their packets.
goes_while_sniffed() {
	# shellcheck disable=SC2016 # for that shell
	sniffed bash -c '"$1" writes reads && rdma link del w-far && rdma link del w-near && rmmod uroce' - "$TEST_BIN/lossy" ||
		return
	load_link && ip netns exec w-far rdma link add w-far type uroce netdev w-far &&
		rdma link add w-near type uroce netdev w-near && wait_until 30 gid_ready w-near && wait_until 30 gid_ready w-far
}

# Removing the device drops the packets for it that are still held, and they do not delay the removal.
goes_while_held() {
	rule w-far || return
	# shellcheck disable=SC2016 # for that shell
	univ ip netns exec w-far "$TEST_BIN/nfqueue" -k $queue ip netns exec w-near bash -c \
		'"$1" destroyed && rdma link del w-far && rdma link del w-near && rmmod uroce' - "$TEST_BIN/lossy"
}

run_test "queued: super-packets are held unsegmented" 60 held_whole sends writes reads atomics
run_test "queued: super-packets are segmented before" 60 held_cut sends writes reads atomics
for kind in rc uc ud; do
	run_test "queued: the result is the same, ${kind}_traffic" 60 same_as_copied ${kind}_traffic
done
run_test "queued: packets are lost without a program" 60 nobody_holds
run_test "queued: the rules are removed" 60 no_rules
run_test "truncated packets do not change the sender's memory" 120 cut_short
run_test "sniffed: senders do not wait for the sniffer" 60 sniffed "$TEST_BIN/lossy" sends writes reads atomics
run_test "sniffed: nothing is left behind" 20 resources_unchanged
run_test "sniffed: modules unload before the sniffer ends" 60 goes_while_sniffed
run_test "queued: devices are removed while packets are held" 60 goes_while_held
ip link del w-near
ip netns del w-near
ip netns del w-far
