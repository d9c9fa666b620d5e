#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Builds and runs the tests that need no device: the library's helper functions, compared with
# the stock library's, the inline functions of its header, as C and as C++, and what an event
# tells of a queue that another thread polls.
#
# Exits 0, 1 with what failed, or 77 if a compiler is missing and nothing failed.

set -u

top=$(cd "$(dirname "$0")/../.." && pwd)
host=$top/tests/user/host
stock=/usr/lib/$(gcc -print-multiarch 2>/dev/null)/libibverbs.so.1
count=0
failed=0
missing=

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

compile()
{
	"$@" -O2 -Wall -Wextra -Werror -D_GNU_SOURCE -I"$top/user/include" -I"$top/user" -o "$tmp/test"
}

run()
{
	count=$((count + 1))
	rm -rf "$tmp/dir" && mkdir "$tmp/dir" && "$tmp/test" "$@" && return
	failed=1
}

test_helpers()
{
	# A program has no versions of symbols
	: > "$tmp/symver.h"
	set -- "$1" -std=gnu11 -I"$tmp" -I"$top/uapi" "$host/helpers.c"
	for name in abi/strings abi/rate abi/marshall abi/versions sys/sysfs; do
		set -- "$@" "$top/user/$name.c"
	done
	if ! compile "$@" -fvisibility=hidden -ldl; then
		failed=1
	elif [ -e "$stock" ]; then
		run "$tmp/dir" "$stock"
	else
		run "$tmp/dir"
	fi
}

test_inlines()
{
	if compile "$@" "$host/inlines.c"; then
		run
	else
		failed=1
	fi
}

# The linker leaves out the functions that the test does not call, and so the rooms that those need.
test_told()
{
	if compile "$1" -std=gnu11 -I"$top/uapi" -ffunction-sections -Wl,--gc-sections "$host/told.c" \
			"$top/user/ring/poll.c" "$top/user/base/lock.c"; then
		run
	else
		failed=1
	fi
}

for cc in gcc clang; do
	if ! command -v $cc > /dev/null; then
		missing="$missing $cc"
		continue
	fi
	test_helpers $cc
	test_inlines $cc -std=gnu11
	test_told $cc
done
for cxx in g++ clang++; do
	if ! command -v $cxx > /dev/null; then
		missing="$missing $cxx"
		continue
	fi
	test_inlines $cxx -std=gnu++11 -x c++
done

echo "$count programs run"
[ -e "$stock" ] || echo "not compared with the stock library, which is not installed"
[ -z "$missing" ] || echo "not installed:$missing"
[ $failed -eq 0 ] || exit 1
[ -z "$missing" ] || exit 77
