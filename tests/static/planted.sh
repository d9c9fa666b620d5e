#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The mistakes that tests/fuzz/proof plants can still be planted: each patch applies, and names a fuzzer and the
# complaint that it causes.

set -u
cd "$(dirname "$0")/../.." || exit 1
failed=0

for file in tests/fuzz/planted/*.patch; do
	fuzzer=$(sed -n 's/^Fuzzer: //p' "$file")
	[ -e "tests/fuzz/$fuzzer.c" ] || { echo "$file: there is no fuzzer '$fuzzer'"; failed=1; }
	grep -q '^Shows: .' "$file" || { echo "$file: does not say what it shows"; failed=1; }
	patch -p1 --dry-run --force <"$file" || { echo "$file does not apply"; failed=1; }
done
exit $failed
