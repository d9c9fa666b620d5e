#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A .c file has at most 600 lines and a header at most 400, because a file is about one noun. The files in "long" are
# exempt, each for the reason beside it.

set -u
cd "$(dirname "$0")/../.." || exit 1
checked=0 failed=0

declare -A long=(
	[uapi/univerbs.h]='the contract in one file, which programs include'
	[user/include/infiniband/verbs.h]="rdma-core's public header, with all of its names"
	[tests/user/lib/ioctl_table.h]='one row for each ioctl that needs special arguments'
)

wrong() {
	echo "$*"
	failed=1
}

while read -r lines file; do
	checked=$((checked + 1))
	case $file in
	*.h) most=400 ;;
	*) most=600 ;;
	esac
	[ "$lines" -gt $most ] || continue
	[ -n "${long[$file]:-}" ] ||
		wrong "$file: $lines lines, of at most $most: split the file by nouns, or say why not in tests/static/sizes.sh"
	unset "long[$file]"
done < <(find bench kernel samples tests uapi user -name '*.[ch]' ! -name '*.mod.c' -exec wc -l {} + |
	sed -E 's/^ *//' | grep -v ' total$' | sort -k 2)
for file in "${!long[@]}"; do
	wrong "tests/static/sizes.sh: $file needs no exemption: it is short, or not there"
done
echo "$checked files checked"
[ $checked -gt 400 ] || wrong "found too few files"
exit $failed
