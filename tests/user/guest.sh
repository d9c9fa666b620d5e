# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the guest's scripts that run these programs share. TEST_STACK=stock runs them over the system's library.

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
	local name=$1 limit=$2 rows
	shift 2
	rows=$(grep -ao 'adv[0-9][0-9]' "$UNIV_REPO/tests/user/$name.c" 2>/dev/null | sort -u | tr '\n' ' ')
	run_test "$name${*:+ $*}${rows:+ (${rows% })}" "$limit" program "$name" "$@"
}

# The number of objects of each kind on all devices, however long their destruction takes in the kernel
resources_now() { rdma resource show; }

resources_mark() { resources_now >"$UNIV_STATE/resources"; }

same_resources() { [ "$(resources_now)" = "$(cat "$UNIV_STATE/resources")" ]; }

# resources_unchanged: what the kernel counts is what it was at resources_mark
resources_unchanged() {
	wait_until 10 same_resources && return
	echo "expected:"
	cat "$UNIV_STATE/resources"
	echo "got:"
	resources_now
	return 1
}

# still_works: a fresh process sends and receives
still_works() { program tutorial; }

# In its completer, rxe of 6.1 warns, once in the life of the kernel, of a request that failed without a status. Requests
# that fail in the middle of reads bring that about over the stock stack as well, so it is not ours to answer for.
rxe_warning='WARNING: .*rxe_comp\.c:[0-9]* rxe_completer'

# forgive_rxe: if that warning is all that the kernel has said since the last mark, leave it behind
forgive_rxe() {
	local mark
	read -r mark <"$UNIV_STATE/klog-mark"
	# shellcheck disable=SC2154 # lib.sh sets it
	if dmesg | without_known | BAD=$klog_bad MARK=$mark KNOWN=$rxe_warning awk '
		index($0, ENVIRON["MARK"]) { bad = known = splat = 0; next }
		/cut here/ { splat = 1; forgiven = 0; next }
		splat && $0 ~ ENVIRON["KNOWN"] { forgiven = 1; known++ }
		splat && /end trace/ { splat = 0; bad += !forgiven; next }
		!splat && $0 ~ ENVIRON["BAD"] { bad++ }
		END { exit !(known && !bad && !splat) }'; then
		echo "rxe warned of its own bug"
		klog_mark
	fi
}

# hostile NAME [CASE]...: a program that makes requests fail in every way
hostile() {
	local status
	program "$@"
	status=$?
	forgive_rxe
	return $status
}
