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
