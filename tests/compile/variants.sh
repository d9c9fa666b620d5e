#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The library with other compilers, C libraries and word sizes than the usual one: it builds without a warning, and has
# the same symbols. It is linked without libmnl, which need not be there for all of them. A compiler that is not
# installed is left out; gcc, clang and gcc -m32 are always wanted.

set -u
cd "$(dirname "$0")/../.." || exit 1
failed=0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# variant NAME CC [OPTION...]
variant()
{
	name=$1 cc=$2
	shift 2
	if ! make -j"$(nproc)" -C user O="$tmp/$name" CC="$cc" CFLAGS="-O2 $*" libs=-lpthread \
			LDFLAGS=-Wl,--unresolved-symbols=ignore-all "$tmp/$name/libibverbs.so.1" > "$tmp/log" 2>&1 ||
		grep -q 'warning:' "$tmp/log"; then
		echo "$name: does not build"
		grep -E 'warning:|[Ee]rror' "$tmp/log" | head -n 20
		failed=1
	elif ! tests/static/symbols.sh "$tmp/$name/libibverbs.so.1" > "$tmp/log"; then
		echo "$name: symbols are missing"
		grep -v ' 0 missing' "$tmp/log"
		failed=1
	elif [ "$name" = musl ] && readelf -d "$tmp/$name/libibverbs.so.1" | grep STATIC_TLS; then
		echo "$name: dlopen() refuses the library, because it wants thread-local memory of the program's start"
		failed=1
	else
		echo "$name: builds, and has every symbol"
	fi
	rm -rf "${tmp:?}/$name"
}

# Of all versions of gcc that Debian has had since 12
for version in 13 14 15 16; do
	! command -v "gcc-$version" > /dev/null || variant "gcc-$version" "gcc-$version"
done
variant lto gcc -flto=auto
variant clang clang
variant m32 "gcc -m32"
# The kernel's headers and libmnl's are the system's
! command -v musl-gcc > /dev/null || variant musl musl-gcc -idirafter /usr/include \
	-idirafter "/usr/include/$(gcc -print-multiarch)"
exit $failed
