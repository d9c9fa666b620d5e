# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Functions that the scripts of guests share. TEST_STACK=stock runs them over the system's library.

: "${TEST_STACK:=univerbs}"
: "${TEST_BIN:=$UNIV_REPO/build/tests}"
export UNIV_TEST_DEVICE=${UNIV_TEST_DEVICE:-rxe0}

# program NAME [CASE]...: one test program over the stack under test
program() {
	local name=$1
	shift
	[ -x "$TEST_BIN/$name" ] || { echo "$name is not built (make -C tests/user)"; return 1; }
	on_stack "$TEST_STACK" "$TEST_BIN/$name" "$@"
}

# user_test NAME SECONDS [CASE]...: a program as one test, named with the rows of ADVERSARIES that it covers
user_test() {
	local name=$1 limit=$2 rows again_as=
	shift 2
	# The devices that make t has
	# shellcheck disable=SC2034 # read by again
	[[ $UNIV_TEST_DEVICE != @(rxe0|w-near) ]] || again_as=$name${*:+ $*}
	rows=$(grep -ao 'adv[0-9][0-9]' "$UNIV_REPO/tests/user/"*"/$name.c" 2>/dev/null | sort -u | tr '\n' ' ')
	run_test "$name${*:+ $*}${rows:+ (${rows% })}" "$limit" program "$name" "$@"
}

# The number of objects of each kind on all devices and what tests/vm/suite is charged for, however long their destruction takes in the kernel
resources_now() {
	rdma resource show
	cat /sys/fs/cgroup/suite/rdma.current
}

resources_mark() { resources_now >"$UNIV_STATE/resources"; }

same_resources() { [ "$(resources_now)" = "$(cat "$UNIV_STATE/resources")" ]; }

# resources_unchanged: the kernel's counts are the same as at resources_mark
resources_unchanged() {
	wait_until 10 same_resources && return
	echo "expected:"
	cat "$UNIV_STATE/resources"
	echo "got:"
	resources_now
	return 1
}

# hw_counter DEVICE NAME: its present value. The kernel shows the value of the last reader until the lifespan is over,
# and with a lifespan of 0 until the end of that tick
hw_counter() {
	local counters=/sys/class/infiniband/$1/ports/1/hw_counters
	echo 0 >"$counters/lifespan" && sleep 0.05 && cat "$counters/$2"
}

# still_works: a fresh process sends and receives
still_works() { program tutorial; }

# In its completer, rxe of 6.1 warns, once while its module is loaded, of a request that failed without a status. Requests
# that fail in the middle of reads bring that about over the stock stack as well, so it is not ours to answer for.
rxe_warning='WARNING: .*rxe_comp\.c:[0-9]* rxe_completer'

# without_splats REGEX: the log without the warnings that have such a line
without_splats() {
	KNOWN=$1 awk '
		function done(  i) {
			for (i = 0; i < n && !forgiven; i++) print held[i]
			n = forgiven = 0
			end = ""
		}
		!n && /cut here/ { end = "end trace" }
		!n && /INFO: trying to register non-static key/ { end = "</TASK>" }
		!n && !end { print; next }
		{ held[n++] = $0 }
		$0 ~ ENVIRON["KNOWN"] { forgiven = 1 }
		index($0, end) { done() }
		END { forgiven = 0; done() }'
}

since_mark() {
	local mark
	read -r mark <"$UNIV_STATE/klog-mark"
	dmesg | MARK=$mark awk '
		{ line[n++] = $0 }
		index($0, ENVIRON["MARK"]) { n = 0 }
		END { for (i = 0; i < n; i++) print line[i] }'
}

# forgive REGEX [MODULE]: if such warnings of the module (rdma_rxe) are all that the kernel has complained of since the last
# mark, leave them behind
# shellcheck disable=SC2154 # lib.sh sets klog_bad
forgive() {
	since_mark | grep -Eq "$klog_bad" || return 0
	! since_mark | without_known | without_splats "$1" | grep -Eq "$klog_bad" || return 0
	forgave 1 "${2:-rdma_rxe} warned of its own bug"
	klog_mark
}

forgive_rxe() { forgive "$rxe_warning"; }

# hostile NAME [CASE]...: a program that makes requests fail in every way
hostile() {
	local status
	program "$@"
	status=$?
	forgive_rxe
	return $status
}
