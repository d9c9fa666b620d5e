# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# In a guest: runs each fuzzer for FUZZ_SECONDS (60), starting with its corpus; FUZZ_SEED (1). Inputs that the fuzzers
# find are kept in the log directory. FUZZ_ONLY names one fuzzer, FUZZ_INPUT an input to be run alone.

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"
# shellcheck source=tests/fuzz/tap.sh
. "$UNIV_REPO/tests/fuzz/tap.sh"

: "${FUZZ_SECONDS:=60}" "${FUZZ_SEED:=1}"
programs=$UNIV_REPO/build/fuzz

need_univerbs || exit 1
fuzzers=(ioctl rings)
need_tap || exit 1
resources_mark

fuzz() {
	local name=$1 found=$UNIV_LOGDIR/$1-$UNIV_LINK corpus=$UNIV_REPO/tests/fuzz/corpus/$1 status edges
	local -x UNIV_TEST_DEVICE
	UNIV_TEST_DEVICE=$(device_of "$name")
	mkdir -p "$found"
	if [ -n "${FUZZ_INPUT:-}" ]; then
		univ "$programs/$name" -n 1 "$FUZZ_INPUT"
	else
		univ "$programs/$name" -s "$FUZZ_SEED" -t "$FUZZ_SECONDS" -o "$found" "$corpus"
	fi >"$found/log" 2>&1
	status=$?
	cat "$found/log"
	edges=$(sed -n 's/.* \([0-9]*\) edges$/\1/p' "$found/log")
	# No fuzzer has ever reached less than 673 edges on the test kernel; the corpus is always finished.
	if [ -z "${FUZZ_INPUT:-}" ] && [ -e /sys/kernel/debug/kcov ] && [ "${edges:-0}" -lt 400 ]; then
		echo "it reaches next to nothing of the kernel: ${edges:-0} edges"
		status=1
	fi
	rm -f "$found/running"
	forgive_rxe
	return $status
}

for name in "${fuzzers[@]}"; do
	[ "${FUZZ_ONLY:-$name}" = "$name" ] || continue
	run_test "fuzz $name over $UNIV_LINK (adv03 adv04 adv13)" $((FUZZ_SECONDS * 2 + 120)) fuzz "$name"
	# Print the amount of work for the reader.
	note "$name, seed $FUZZ_SEED: $(tail -n 1 "$UNIV_LOGDIR/$name-$UNIV_LINK/log")"
	run_test "a fresh process works after fuzz $name over $UNIV_LINK" 20 still_works
done

run_test "nothing is left behind" 20 resources_unchanged
[ "$UNIV_LINK" != uroce ] || run_test "the device over the tap is removed" 20 tap_gone
