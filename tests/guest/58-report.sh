# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# univerbs-report: on a host that is set up it reports no problem, and on other hosts its first lines name the problem.
# univerbs-run warns on a terminal if the machine has no device, or none that the user may use.
#
# needs: uroce

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

report=$UNIV_REPO/build/user/univerbs-report
out=$UNIV_STATE/report

use_link uroce && need_univerbs || exit 1

as_nobody() { setpriv --reuid nobody --regid nogroup --clear-groups "$@"; }

# says WORDS COMMAND...: COMMAND prints a line that begins with "!" and has these words, and its status is 1.
says() {
	local words=$1 status
	shift
	"$@" "$report" >"$out" 2>&1
	status=$?
	[ $status -eq 1 ] || { echo "status $status"; cat "$out"; return 1; }
	grep -q "^! .*$words" "$out" || { echo "no problem \"$words\":"; head -n 20 "$out"; return 1; }
}

# warns WORDS: univerbs-run prints one warning with these words on a terminal, and none elsewhere. WORDS may be empty: no
# warning.
warns() {
	local run=$UNIV_REPO/build/user/univerbs-run
	as_nobody script -qec "$run true" /dev/null >"$out" 2>&1 </dev/null || { echo "status $?"; cat "$out"; return 1; }
	if [ -n "$1" ]; then grep -q "warning: $1" "$out"; else [ ! -s "$out" ]; fi || { cat "$out"; return 1; }
	[ -z "$(as_nobody "$run" true 2>&1)" ]
}

all_right() {
	chmod a+rw /dev/infiniband/*
	warns '' || return
	as_nobody "$report" >"$out" 2>&1 || { echo "status $?"; cat "$out"; return 1; }
	for words in '^Nothing looks wrong' '^== versions' '^module univerbs .*loaded' '^rxe0 .*GUID' 'GID 1 .*RoCE v2' \
		'^memlock (KiB) .*unlimited' '^net:\['; do
		grep -q "$words" "$out" || { echo "no line like $words:"; cat "$out"; return 1; }
	done
	! grep -qi 'no such file\|not found\|error' "$out"
}

node_not_writable() {
	local node
	node=/dev/infiniband/$(basename /sys/class/univerbs/univerbs*)
	chmod 600 "$node"
	says "$node cannot be read and written by nobody" as_nobody && warns "nobody may not open $node"
	local status=$?
	chmod a+rw "$node"
	return $status
}

memlock_small() { says 'Only 64 KiB of memory' as_nobody prlimit --memlock=65536; }

port_down() {
	local status
	ip link set "$(netdev_of rxe0)" down
	says 'Port 1 of rxe0 is not active' env
	status=$?
	ip link set "$(netdev_of rxe0)" up
	return $status
}

no_address() {
	local status
	ip link add bare mtu 4200 type veth peer name bare-peer mtu 4200
	ip link set bare-peer up && ip link set bare addrgenmode none up && rdma link add bare0 type uroce netdev bare
	says 'Port 1 of bare0 has no RoCE v2 GID' env
	status=$?
	rdma link del bare0
	ip link del bare
	return $status
}

no_module() {
	remove_device rxe0 && unload_univerbs || return
	says 'The module univerbs is' env && grep -q '^! There is no RDMA device' "$out" && warns 'this machine has no RDMA device'
}

# Root finds the calls that failed, with the process; other users learn that there are some.
failed_calls() {
	local line='^rxe0: [0-9.]* QP_MODIFY error -22 reason UNIV_REASON_[A-Z_]* .*by bad_modify:[0-9]*$'
	program bad_modify bad_values && "$report" >"$out" 2>&1
	grep -q "$line" "$out" || { sed -n '/^== failed/,$p' "$out"; return 1; }
	as_nobody "$report" >"$out" 2>&1
	grep -q '^rxe0: root alone can read them$' "$out" && ! grep -q "$line" "$out" || { cat "$out"; return 1; }
	! as_nobody cat /sys/class/univerbs/*/failed_calls 2>/dev/null &&
		! setpriv --inh-caps -net_admin --bounding-set -net_admin cat /sys/class/univerbs/*/failed_calls 2>/dev/null
}

run_test "report: no problem is reported" 180 all_right
run_test "report: failed calls" 120 failed_calls
run_test "report: a node that the user may not write to" 180 node_not_writable
run_test "report: little memory may be registered" 180 memlock_small
run_test "report: a port that is down" 180 port_down
run_test "report: a port without an address" 180 no_address
run_test "report: no module and no device" 180 no_module
