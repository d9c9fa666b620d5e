#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds and runs the test of uroce's checksum by VPCLMULQDQ, an instruction that the emulated processor of a guest lacks. Exits
# with 77 if the processor of this machine lacks it as well.

set -u
cd "$(dirname "$0")/../.." || exit 1
[ "$(uname -m)" = x86_64 ] || { echo "the instruction belongs to x86-64"; exit 77; }
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

for cc in gcc clang; do
	command -v $cc >/dev/null || { echo "$cc is not installed"; exit 1; }
	$cc -O2 -Wall -Wextra -Werror -mgeneral-regs-only -c -o "$tmp/fold.o" kernel/uroce/net/fold.c || exit 1
	$cc -std=gnu11 -O2 -Wall -Wextra -Werror -D_GNU_SOURCE -o "$tmp/test" tests/user/host/fold.c "$tmp/fold.o" || exit 1
	"$tmp/test" || exit
done
