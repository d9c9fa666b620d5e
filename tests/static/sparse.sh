#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# sparse reads the modules' sources for the kernel that "make modules" builds for, and reports nothing. Debian 12's sparse
# understands the headers of 6.1, but not those of later kernels. A source is not read again if sparse reported nothing about the
# same source with the same headers before (sparse-once).

set -u
cd "$(dirname "$0")/../.." || exit 1
command -v sparse >/dev/null || { echo "sparse is missing (make deps)"; exit 77; }
# shellcheck source=../vm/kernel.sh
. tests/vm/kernel.sh
release=$(pick_release)
[[ $release == 6.1.* ]] || { echo "the kernel is ${release:-missing}, and sparse reads 6.1 alone"; exit 77; }
tmp=$(mktemp -d "${TMPDIR:-/tmp}/univerbs-sparse.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
export UNIV_SPARSE_TREE=$PWD UNIV_SPARSE_SUMS=$tmp/sums
export UNIV_SPARSE_CLEAN=${UNIV_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/univerbs}/sparse
mkdir -p "$UNIV_SPARSE_CLEAN" && find "$UNIV_SPARSE_CLEAN" -type f -mtime +30 -delete

# inputs: prints the names of all files on which the results depend, as Kbuild names them. None of an object that is not built.
inputs() {
	printf '%s\n' "$(command -v sparse)" "$UNIV_SPARSE_TREE/tests/static/sparse-once" include/generated/autoconf.h
	find "$UNIV_SPARSE_TREE"/{kernel,samples} -name '*.c'
	find "$UNIV_SPARSE_TREE"/{kernel,samples} -name '.*.o.cmd' -exec sed -n 's/^  \([^ ]*\) \\$/\1/p' {} + | sort -u
}

(cd "${KDIR:-/lib/modules/$release/build}" && inputs | xargs -d '\n' sha256sum) >"$UNIV_SPARSE_SUMS" 2>/dev/null
# C=2: sparse also reads files that are compiled already
make -j"$(nproc)" C=2 CHECK="$PWD/tests/static/sparse-once" modules >"$tmp/log" 2>&1 || { tail -n 20 "$tmp/log"; exit 1; }
grep -q '^  CHECK ' "$tmp/log" || { echo "sparse has read no file"; exit 1; }
! grep -E '(warning|error): ' "$tmp/log"
