# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# In a guest: for SOAK_SECONDS (600), round after round, runs mixed load between two uroce devices while the network
# loses, duplicates, reorders and damages packets, in another mixture each round; every byte is checked.

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"
# shellcheck source=tests/user/network.sh
. "$UNIV_REPO/tests/user/network.sh"

: "${SOAK_SECONDS:=600}" "${SOAK_SEED:=1}"
# The last mixture has all faults at once. If a tenth of the packets were lost and a tenth damaged, eight tries in a row
# of one packet would fail, in each direction, in one of about fifty rounds.
networks=("loss 10%" "duplicate 10%" "delay 1ms reorder 75%" "corrupt 10%" "loss 3% duplicate 3% corrupt 3%"
	"delay 1ms 1ms reorder 75% loss 3% duplicate 3% corrupt 3%" "rate 20mbit loss 1%"
	"delay 1ms reorder 75% loss 5% duplicate 10% corrupt 5%")
cases=(sends writes reads atomics)

# shellcheck disable=SC2119
load_univerbs || exit 1
UNIV_LINK=uroce load_link || exit 1
far_and_near || { fails "two namespaces with a device each"; exit 1; }
export UNIV_TEST_DEVICE=w-near UNIV_TEST_PEER=w-far
resources_mark

# wire_round SEED: runs a program for each kind of message, all at the same time, and one program of perftest.
wire_round() {
	local seed=$1 name failed=0 jobs=() had
	for name in "${cases[@]}"; do
		LOSSY_MESSAGES=${SOAK_MESSAGES:-400} program lossy "$name" >"$UNIV_STATE/soak.$name" 2>&1 &
		jobs+=("$!:$name")
	done
	between ib_write_bw -x 1 -F -s 65536 -n $((20 + seed % 7 * 10)) >"$UNIV_STATE/soak.ib_write_bw" 2>&1 ||
		{ failed=1; tail -n 12 "$UNIV_STATE/soak.ib_write_bw"; }
	for name in "${jobs[@]}"; do
		wait "${name%%:*}" || { failed=1; echo "${name#*:}:"; tail -n 12 "$UNIV_STATE/soak.${name#*:}"; }
	done
	# Rounds on a network that does nothing to packets would prove nothing.
	read -r had _ < <(netem_had)
	[ "$had" -gt 0 ] || { failed=1; echo "netem had no packet"; }
	return $failed
}

start=$SECONDS
for ((seed = SOAK_SEED; SECONDS - start < SOAK_SECONDS; seed++)); do
	bad=${networks[seed % ${#networks[@]}]}
	# shellcheck disable=SC2086 # words
	network $bad || { fails "network: $bad"; break; }
	run_test "round $seed, mixed load: $bad" 600 wire_round "$seed"
done
network

run_test "nothing is left behind" 20 resources_unchanged
run_test "both devices go" 20 far_gone
