# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Many queue pairs of uroce with messages under way at once, by copying and by packets: 3000 on Debian's own kernel, and 600
# on the test kernel, which is five times slower.
#
# needs: uroce
# runs in: test-kernel-processes

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

UNIV_LINK=uroce setup_device crowd && load_driver uroce || exit 1
export UNIV_TEST_DEVICE=crowd
resources_mark

# The program crowd has 1500 of them on each side.
queue_pairs=$((2 * $(rounds 1500)))

available() { awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo; }

memory_is_back() { [ "$(available)" -gt $(($1 - 16384)) ]; }

# crowd LOCAL: by copying (1) or by packets (0). By packets, 3000 queue pairs exchange 13,500 messages, and a slow machine has
# some timeouts without a loss: 200 at most. By copying there is no timeout, since each peer answers.
crowd() {
	local sent timeouts most=$((200 * !$1))
	echo "$1" >/sys/module/uroce/parameters/local
	sent=$(hw_counter crowd sent_pkts) timeouts=$(hw_counter crowd ack_timeout)
	program crowd | tee "$UNIV_STATE/crowd.out"
	[ "${PIPESTATUS[0]}" -eq 0 ] || return
	grep -qx "$queue_pairs queue pairs" "$UNIV_STATE/crowd.out" || { echo "they are not $queue_pairs"; return 1; }
	sent=$(($(hw_counter crowd sent_pkts) - sent)) timeouts=$(($(hw_counter crowd ack_timeout) - timeouts))
	echo "$sent packets, $timeouts timeouts"
	case $1 in
	1) [ $sent -eq 0 ] || { echo "packets were used"; return 1; } ;;
	0) [ $sent -gt 0 ] || { echo "no packets were used"; return 1; } ;;
	esac
	[ $timeouts -le $most ]
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

run_test "crowd: $queue_pairs queue pairs by copying (adv27)" 200 crowd 1
run_test "crowd: $queue_pairs queue pairs by packets (adv27)" 200 crowd 0
run_test "crowd: memory is freed" 200 memory_comes_back
run_test "crowd: nothing is left behind" 20 resources_unchanged
echo 1 >/sys/module/uroce/parameters/local
remove_device crowd
run_test "crowd: the modules unload" 30 rmmod uroce
