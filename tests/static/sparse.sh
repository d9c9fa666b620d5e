#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# sparse reads the modules' sources for the kernel that "make modules" builds for, and reports nothing. Debian 12's sparse
# understands the headers of 6.1, but not those of later kernels.

set -u
cd "$(dirname "$0")/../.." || exit 1
command -v sparse >/dev/null || { echo "sparse is missing (make deps)"; exit 77; }
# shellcheck source=../vm/kernel.sh
. tests/vm/kernel.sh
release=$(pick_release)
[[ $release == 6.1.* ]] || { echo "the kernel is ${release:-missing}, and sparse reads 6.1 alone"; exit 77; }
log=$(mktemp "${TMPDIR:-/tmp}/univerbs-sparse.XXXXXX") || exit 1
trap 'rm -f "$log"' EXIT
# C=2: sparse also reads files that are compiled already
make -j"$(nproc)" C=2 modules >"$log" 2>&1 || { tail -n 20 "$log"; exit 1; }
grep -q '^  CHECK ' "$log" || { echo "sparse has read no file"; exit 1; }
# The kernel's own netdevice.h causes this warning
not_ours='/include/linux/netdevice\.h:[0-9:]+ warning: typeof applied to bitfield type$'
! grep -E '(warning|error): ' "$log" | grep -vE "$not_ours"
