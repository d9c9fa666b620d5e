# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# UNIVERBS_EXPLAIN=1: one line on stderr for each failure, and none without it.
#
# needs: device
# runs in: guest-uroce coverage-library test-kernel-memory

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

need_univerbs || exit 1

# explained CASE WORD...: CASE of bad_modify prints a line that has all the words.
explained() {
	local err=$UNIV_STATE/explain.err word
	UNIVERBS_EXPLAIN=1 program bad_modify "$1" 2>"$err" >/dev/null || return 1
	shift
	if grep -qv '^univerbs: ' "$err"; then
		echo "a line without the prefix:"
		grep -v '^univerbs: ' "$err" | head -n 3
		return 1
	fi
	for word; do
		grep -i -- "$word" "$err" >"$err.1" || { echo "no line says $word:"; head -n 5 "$err"; return 1; }
		mv "$err.1" "$err"
	done
}

silent() {
	local err=$UNIV_STATE/explain.err
	for value in '' 0; do
		UNIVERBS_EXPLAIN=$value program bad_modify rc_masks 2>"$err" >/dev/null
		[ ! -s "$err" ] || { echo "with UNIVERBS_EXPLAIN=$value:"; head -n 3 "$err"; return 1; }
	done
}

# The line of a failed completion names the cause and the peer.
completion() {
	local err=$UNIV_STATE/explain.err
	UNIVERBS_EXPLAIN=1 program bad_requests nobody_there 2>"$err" >/dev/null
	grep -qi 'retries\|retry' "$err" && grep -q '10\.77\.\|ffff:0a4d\|ffff:10\.77' "$err" && return
	echo "expected a line with the cause and the peer's address:"
	cat "$err"
	return 1
}

# prints COMMAND LINE...: COMMAND, of an ordinary user, prints these lines among others. If it is a server, a client connects.
prints() {
	local command=$1 line out=$UNIV_STATE/terminal.out
	shift
	(wait_until 20 tcp_listens 18515 && exec ibv_rc_pingpong -d rxe0 127.0.0.1) >/dev/null 2>&1 &
	PATH=$UNIV_LIBDIR:$PATH timeout 40 setpriv --reuid nobody --regid nogroup --clear-groups bash -c "$command" >"$out" 2>&1
	kill $! 2>/dev/null
	for line; do
		grep -qxF -- "$line" "$out" || { echo "\"$command\" does not print \"$line\":"; cat "$out"; return 1; }
	done
}

# The picture of a terminal shows what its commands print.
terminal() {
	local line words=() commands=0
	chmod a+rw /dev/infiniband/*
	while read -r line; do
		if [ -n "$line" ]; then
			words+=("${line#\$ }")
		else
			prints "${words[@]}" || return
			words=()
			commands=$((commands + 1))
		fi
	done < <(cat "$UNIV_REPO/Documentation/pictures/explain.txt"; echo)
	[ $commands -ge 3 ]
}

run_test "a missing attribute is explained" 60 explained rc_masks ibv_modify_qp "INIT.*RTR" PATH_MTU
run_test "an invalid state transition is explained" 60 explained rc_states ibv_modify_qp "RESET" "RTS"
run_test "a wrong value is explained" 60 explained bad_values ibv_modify_qp TIMEOUT 32
run_test "nothing is printed without UNIVERBS_EXPLAIN" 90 silent
run_test "a failed completion is explained" 40 completion
user_test mistakes_calls 120
user_test mistakes_work 180
user_test other_devices 60
[ "$UNIV_LINK" != uroce ] || user_test mistakes_uroce 60
# Its device has the limits of rdma_rxe.
[ "$UNIV_LINK" != rxe ] || run_test "the terminal of explain.svg" 120 terminal
user_test mistakes_hangs 180
