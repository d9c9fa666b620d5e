#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# That the library has each symbol, with its version and type, of every release of rdma-core since 44, so that programs
# and drivers' libraries linked with any of them load. That it reads the environment by secure_getenv() alone, since the
# user of a set-user-ID program must not choose its files.
#
#	symbols.sh [LIBRARY]	default: build/user/libibverbs.so.1

set -u
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
lib=${1:-$here/../../build/user/libibverbs.so.1}
failed=0

[ -e "$lib" ] || { echo "there is no $lib"; exit 1; }

# Libraries that a program loads late share some 1.6 KiB of thread-local memory, and loading one fails when it is used up.
tls=$(readelf -lW "$lib" | awk '$1 == "TLS" { print $6 }')
[ $((${tls:-0})) -le 64 ] || { echo "$lib has $((tls)) bytes of thread-local variables, and may have 64"; failed=1; }

if readelf -W --dyn-syms "$lib" | awk '$7 == "UND" { sub(/@.*/, "", $8); print $8 }' | grep -qx getenv; then
	echo "$lib uses getenv()"
	failed=1
fi

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# The private nodes' symbols have their first node as default; a library of rdma-core has that one node only.
readelf -W --dyn-syms "$lib" | awk '$7 != "UND" && $5 != "LOCAL" && $8 ~ /@/ { print $8, $4 }' |
	sed '/PRIVATE/s/@@/@/' | sort -u > "$tmp/ours"

# The first release with each private node, and those that brought public symbols or private ones.
while read -r release node; do
	awk -v release="$release" '!/^#/ && $1 <= release { print $2, $3 }' "$here/rdma-core.symbols" |
		sed -e "s/PRIVATE_N/PRIVATE_$node/" -e "s/_driver_N/_driver_$node/" -e '/PRIVATE/s/@@/@/' |
		sort > "$tmp/theirs"
	comm -23 "$tmp/theirs" "$tmp/ours" > "$tmp/missing"
	echo "release $release: $(wc -l < "$tmp/theirs") symbols, $(wc -l < "$tmp/missing") missing"
	[ -s "$tmp/theirs" ] && [ ! -s "$tmp/missing" ] || { cat "$tmp/missing"; failed=1; }
done << 'RELEASES'
44 34
49 34
53 34
56 34
57 57
59 59
62 59
64 64
65 65
RELEASES
exit $failed
