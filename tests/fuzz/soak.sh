# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# In a guest: for SOAK_SECONDS (600), round after round, runs all fuzzers at once, and beside them programs one after another.
# Each round has a seed of its own, from SOAK_SEED (1) on, and so has each program of a round.

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"
# shellcheck source=tests/fuzz/tap.sh
. "$UNIV_REPO/tests/fuzz/tap.sh"

: "${SOAK_SECONDS:=600}" "${SOAK_SEED:=1}" "${SOAK_ROUND:=120}"
folder=$UNIV_REPO/build/fuzz
corpus=$UNIV_REPO/tests/fuzz/corpus
# Programs that check only objects of their own. The others would fail beside them: they count the machine's pinned
# pages, fill limits that all processes share, or remove the device.
programs=(ringabuse races killed flood cq_overrun mmaps bad_post bad_requests bad_memory threads forked many poison
	  api_srq)

need_univerbs || exit 1
fuzzers=(ioctl rings)
need_tap || exit 1
resources_mark

# soak_fuzz NAME SEED: one round of a fuzzer
soak_fuzz() {
	local found=$UNIV_LOGDIR/$1-$2
	mkdir -p "$found"
	UNIV_TEST_DEVICE=$(device_of "$1") univ "$folder/$1" -s "$2" -t "$SOAK_ROUND" -o "$found" "$corpus/$1" >"$found/log" 2>&1
}

# uroce keeps pins of memory that was deregistered, up to so many MiB for each protection domain. Other devices have no such parameter.
pin_cache=/sys/module/uroce/parameters/pin_cache_mib
keep_pins() { [ ! -e $pin_cache ] || echo "$1" >$pin_cache; }

# soak_round SEED: runs the programs while there is time, starting at another program in each round. In each second round pins
# are kept.
soak_round() {
	local seed=$1 end=$((SECONDS + SOAK_ROUND)) i name failed=0
	local -A pid
	keep_pins $((seed % 2 * 64))
	for name in "${fuzzers[@]}"; do
		soak_fuzz "$name" "$seed" & pid[$name]=$!
	done
	for ((i = seed * 5; SECONDS < end; i++)); do
		name=${programs[i % ${#programs[@]}]}
		UNIV_TEST_SEED=$((seed * 1000 + i)) program "$name" >"$UNIV_STATE/soak.$name" 2>&1 ||
			{ failed=1; echo "$name fails:"; tail -n 12 "$UNIV_STATE/soak.$name"; }
	done
	for name in "${fuzzers[@]}"; do
		wait "${pid[$name]}" || { failed=1; echo "the fuzzer of $name:"; tail -n 12 "$UNIV_LOGDIR/$name-$seed/log"; }
		rm -f "$UNIV_LOGDIR/$name-$seed/running"
	done
	forgive_rxe
	return $failed
}

start=$SECONDS
for ((seed = SOAK_SEED; SECONDS - start < SOAK_SECONDS; seed++)); do
	run_test "${#fuzzers[@]} fuzzers and ${#programs[@]} programs, seed $seed" $((SOAK_ROUND * 3)) soak_round "$seed"
	for name in "${fuzzers[@]}"; do
		note "$name: $(tail -n 1 "$UNIV_LOGDIR/$name-$seed/log")"
	done
	run_test "a fresh process works after seed $seed" 20 still_works
done

keep_pins 0
run_test "nothing is left behind" 20 resources_unchanged
[ "$UNIV_LINK" != uroce ] || run_test "the device over the tap is removed" 20 tap_gone
