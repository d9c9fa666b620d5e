# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Three thousand queue pairs of uroce with messages under way at once, by copying and by packets.
#
# needs: uroce
# runs in: test-kernel-processes

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

UNIV_LINK=uroce setup_device crowd && load_driver uroce || exit 1
export UNIV_TEST_DEVICE=crowd
resources_mark

available() { awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo; }

memory_is_back() { [ "$(available)" -gt $(($1 - 16384)) ]; }

# crowd LOCAL: by copying (1) or by packets (0). With so many messages, a slow machine has some timeouts without a loss.
crowd() {
	local sent timeouts
	echo "$1" >/sys/module/uroce/parameters/local
	sent=$(hw_counter crowd sent_pkts) timeouts=$(hw_counter crowd ack_timeout)
	program crowd || return
	sent=$(($(hw_counter crowd sent_pkts) - sent)) timeouts=$(($(hw_counter crowd ack_timeout) - timeouts))
	echo "$sent packets, $timeouts timeouts"
	case $1 in
	1) [ $sent -eq 0 ] || { echo "packets were used"; return 1; } ;;
	0) [ $sent -gt 0 ] || { echo "no packets were used"; return 1; } ;;
	esac
	[ $timeouts -le 200 ]
}

# Slabs and tables stay grown after the first run, and must not grow as much again in a second one.
memory_comes_back() {
	local before
	before=$(available)
	crowd 0 || return
	wait_until 20 memory_is_back "$before" && return
	echo "$((before - $(available))) KiB less than before"
	return 1
}

run_test "crowd: by copying (adv27)" 200 crowd 1
run_test "crowd: by packets (adv27)" 200 crowd 0
run_test "crowd: memory is freed" 200 memory_comes_back
run_test "crowd: nothing is left behind" 20 resources_unchanged
echo 1 >/sys/module/uroce/parameters/local
remove_device crowd
run_test "crowd: the modules unload" 30 rmmod uroce
