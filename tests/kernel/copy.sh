# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Copies the sources of the modules, so that they are compiled beside the tree. To be sourced.

sources() {
	find kernel samples uapi tests/kunit tests/unknown Kbuild \( -name '*.[chS]' -o -name Kbuild \) ! -name '*.mod.c' -type f \
		2>/dev/null
}

# copy_sources DIRECTORY: copies the sources of the current directory there and removes what it has no more. A file with the
# same bytes keeps its time, so make does not compile it again, even if a new clone of the repository has written it.
copy_sources() {
	local copy=$1 file
	sources | while read -r file; do
		cmp -s "$file" "$copy/$file" && continue
		mkdir -p "$(dirname "$copy/$file")" || exit 1
		cp "$file" "$copy/$file" || exit 1
	done || return
	(cd "$copy" && sources) | while read -r file; do
		[ -e "$file" ] || rm -f "$copy/$file"
	done
}
