#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# No line of C is longer than 80 columns in kernel/, uapi/ and the drivers in samples/, and 100 in user/ and in the model
# of samples/pci, which is a program. A tab has 8 columns. Lines with a string are exempt, since a string that is broken
# cannot be found by grep.

set -u
cd "$(dirname "$0")/../.." || exit 1
checked=0 failed=0

# long_lines MOST FILE...: prints the lines that are longer, with their places
long_lines() {
	awk -v most="$1" '
		function columns(line,   n, i, parts, count) {
			count = split(line, parts, "\t")
			for (i = 1; i < count; i++) {
				n += length(parts[i])
				n += 8 - n % 8
			}
			return n + length(parts[count])
		}
		columns($0) > most && !/"[^"]+"/ { print FILENAME ":" FNR ": " columns($0) " columns" }' "${@:2}"
}

# files FOLDER...: prints the sources in these folders, without the ones that Kbuild makes
files() { find "$@" -name '*.[ch]' ! -name '*.mod.c' | sort; }

mapfile -t narrow < <(files kernel uapi samples | grep -v '^samples/pci/model/')
mapfile -t wide < <(files user samples/pci/model)
found=$(long_lines 80 "${narrow[@]}"; long_lines 100 "${wide[@]}")
[ -z "$found" ] || { echo "$found"; failed=1; }
checked=$((${#narrow[@]} + ${#wide[@]}))
echo "$checked files checked"
[ $checked -gt 150 ] || { echo "found too few files"; failed=1; }
exit $failed
