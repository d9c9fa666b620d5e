#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Compiles each header under uapi/ and user/include alone and twice over, as C with gcc and clang,
# and the library's as C++ too. Then what other packages install on top of the library's headers, and whether these declare
# all that rdma-core's do.
#
# Exits 0, 1 with the compiler's messages, or 77 if a compiler is missing and nothing failed.

set -u
export LC_ALL=C

top=$(cd "$(dirname "$0")/../.." && pwd)
count=0
failed=0
missing=

# In the tree, to which ccache makes paths relative, so that it knows the same headers in another clone.
mkdir -p "$top/build/headers" && cd "$top/build/headers" || exit 1

# Language, name as in #include, and compiler with its options.
try()
{
	lang=$1
	name=$2
	shift 2
	command -v "$1" > /dev/null || return 0
	count=$((count + 1))
	printf '#include <%s>\n#include <%s>\nextern int not_empty;\n' "$name" "$name" > "header.$lang"
	"$@" -Wall -Wextra -Werror -c -o header.o -I"$top/user/include" -I"$top/uapi" "header.$lang" && return
	echo "<$name> does not compile with: $*"
	failed=1
}

try_c()
{
	try c "$1" gcc -std=gnu11
	try c "$1" clang -std=gnu11
}

try_cpp()
{
	for std in gnu++98 gnu++11 gnu++20; do
		try cc "$1" g++ -std=$std
		try cc "$1" clang++ -std=$std
	done
}

for compiler in gcc clang g++ clang++; do
	command -v $compiler > /dev/null || missing="$missing $compiler"
done

for header in "$top"/uapi/*.h; do
	try_c "${header##*/}"
done
for header in "$top"/user/include/infiniband/*.h; do
	try_c "infiniband/${header##*/}"
	try_cpp "infiniband/${header##*/}"
done
for name in rdma/rdma_cma.h rdma/rdma_verbs.h infiniband/mlx5dv.h infiniband/mlx4dv.h \
	    infiniband/efadv.h; do
	[ -e "/usr/include/$name" ] || continue
	try_c "$name"
	try_cpp "$name"
done

# Names that a source file may use which was written for a newer rdma-core than Debian 12's (abi.sh compares with that)
unknown=$(grep -ohE '[A-Za-z0-9_]+' "$top"/user/include/infiniband/*.h | sort -u |
	comm -13 - "$top/tests/static/rdma-core.names" | grep -v '^#')
if [ -n "$unknown" ]; then
	echo "declared by rdma-core, and not here:" $unknown
	failed=1
fi

echo "$count headers compiled"
[ -z "$missing" ] || echo "not installed:$missing"
[ $failed -eq 0 ] || exit 1
[ -z "$missing" ] || exit 77
