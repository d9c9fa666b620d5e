# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Copies the sources of the modules, so that they are compiled beside the tree. To be sourced.

sources() {
	find kernel samples uapi tests/kunit tests/unknown Kbuild \( -name '*.[chS]' -o -name Kbuild \) ! -name '*.mod.c' -type f \
		2>/dev/null
}

# begin_copy DIRECTORY: takes the lock of a copy, the name of which begins with eight digits that stand for its tree. A new one
# begins as what the newest copy of another tree is, so that only files that differ are compiled.
begin_copy() {
	local copy=$1 other
	mkdir -p "$copy" && exec 9>"$copy/lock" && flock -w 600 9 || return
	[ ! -e "$copy/Kbuild" ] || return 0
	while read -r other; do
		if [ "${other:8}" = "${copy##*/????????}" ] && [ -e "${copy%/*}/$other/Kbuild" ]; then
			take_copy "${copy%/*}/$other" "$copy"
			return
		fi
	done < <(ls -t "${copy%/*}")
}

# take_copy FROM TO: nothing, if a build has the lock of FROM. Kbuild compares commands with those that it has written down, and
# they have the name of the copy in them, as debugging information has. Each file keeps its time: an object may be older than
# its source, if its build failed or was not asked for, and has to be compiled then.
take_copy() {
	local from=${1##*/} to=${2##*/} new=$2.new
	rm -rf "$new"
	exec 8<"$1/lock"
	if flock -n 8 && cp -a "$1" "$new"; then
		grep -rlF --null "${from:0:8}" "$new" | LC_ALL=C xargs -0r sed -i "s/${from:0:8}/${to:0:8}/g" &&
			cp -a --attributes-only -T "$1" "$new" && rm "$new/lock" && mv "$new"/* "$2"
	fi
	exec 8<&-
	rm -rf "$new"
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
