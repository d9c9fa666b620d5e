# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For scripts that run the fuzzer of packets in a guest. tests/user/guest.sh comes first.

# tap_device: uroce over a tap, into which the fuzzer of packets writes. Its peer is 10.78.0.2.
tap_device() {
	# It is a part of the test kernel, and a module of Debian's.
	modprobe -q tun
	ip tuntap add dev fuzz-net mode tap && ip link set fuzz-net addrgenmode none mtu 4200 &&
		ip addr add 10.78.0.1/24 dev fuzz-net && ip link set fuzz-net up &&
		ip neigh add 10.78.0.2 lladdr 02:00:00:00:00:02 nud permanent dev fuzz-net && setup_device fuzz fuzz-net
}

tap_gone() { rdma link del fuzz && ip link del fuzz-net; }

# need_tap: adds the fuzzer of packets to $fuzzers if there is uroce, which alone receives its packets.
need_tap() {
	[ "$UNIV_LINK" = uroce ] || return 0
	tap_device || { fails "uroce over a tap"; return 1; }
	fuzzers+=(packets)
}

# device_of FUZZER: prints the device that it needs.
device_of() {
	if [ "$1" = packets ]; then echo fuzz; else echo "$UNIV_TEST_DEVICE"; fi
}
