#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Compares the documents with the sources: ioctls, reasons and limits of uapi/univerbs.h, functions that are ours alone,
# manual pages, paths, and the functions that Documentation names with their file.
#
# Exits 0, 1 with what is missing, or 77 if nothing can render manual pages and nothing failed.

set -u
export LC_ALL=C.UTF-8
cd "$(dirname "$0")/../.." || exit 1

texts=(README.md CONTRIBUTING.md MAINTAINERS Documentation/*.rst)
pages=(Documentation/man/*.[1-9])
failed=0
checked=0

missing() {
	echo "$*"
	failed=1
}

# names PREFIX...: the enumerators and ioctls of uapi/univerbs.h that begin so
names() {
	local prefix
	for prefix; do
		grep -oE "^[[:space:]]*${prefix}_[A-Z0-9_]+" uapi/univerbs.h | tr -d '[:blank:]'
		grep -oE "^#define ${prefix}_[A-Z0-9_]+[[:space:]]+UNIV_IO\(" uapi/univerbs.h | awk '{ print $2 }'
	done | sort -u
}

# in_text NAME FILE: as a word of its own, so that UNIV_QP_QUERY_X does not count for UNIV_QP_QUERY
in_text() { grep -qw -- "$1" "$2"; }

check_contract() {
	local name count=0
	for name in $(names UNIV); do
		case $name in
		UNIV_REASON_*|UNIV_LIMIT_*) continue ;;
		esac
		grep -qE "^#define ${name}[[:space:]]+UNIV_IO\(" uapi/univerbs.h || continue
		count=$((count + 1))
		in_text "$name" Documentation/uapi.rst || missing "Documentation/uapi.rst: $name is not described"
	done
	[ $count -ge 20 ] || missing "found only $count ioctls in uapi/univerbs.h"
	checked=$((checked + count))
	count=0
	for name in $(names UNIV_REASON UNIV_LIMIT); do
		case $name in
		UNIV_LIMIT_NONE|UNIV_LIMIT_COUNT) continue ;;
		esac
		count=$((count + 1))
		in_text "$name" Documentation/errors.rst || missing "Documentation/errors.rst: $name is not described"
	done
	[ $count -ge 40 ] || missing "found only $count reasons in uapi/univerbs.h"
	checked=$((checked + count))
}

# The other way round: a name that neither the contract nor the programs of tests have any more
check_stale() {
	local name file
	for file in "${texts[@]}" "${pages[@]}"; do
		while read -r name; do
			grep -rqwF --include='*.[ch]' -- "$name" uapi kernel user tests/user/lib || missing "$file: there is no $name"
			checked=$((checked + 1))
		done < <(grep -ohE '\bUNIV_[A-Z0-9]+(_[A-Z0-9]+)+\b' "$file" | sort -u)
	done
}

own_functions() {
	sed -nE 's/^(univerbs_[a-z_]+) +UNIVERBS_1\.[0-9]+ .*/\1/p' user/abi/libibverbs.symbols
}

check_pages_exist() {
	local name count=0
	for name in $(own_functions); do
		count=$((count + 1))
		[ -e "Documentation/man/$name.3" ] || missing "Documentation/man/$name.3: there is no such page"
		in_text "$name" Documentation/man/univerbs.7 || missing "Documentation/man/univerbs.7: $name is not mentioned"
	done
	[ $count -gt 0 ] || missing "found no function of version UNIVERBS_1.x in user/abi/libibverbs.symbols"
	[ -e Documentation/man/univerbs-run.1 ] || missing "Documentation/man/univerbs-run.1: there is no such page"
	checked=$((checked + count + 1))
}

# Each function that programs call has one entry in functions.rst, and their number in limits.rst is right.
check_functions() {
	local name times entries count=0
	# Texts about a function are indented, and may name others.
	entries=$(grep -v '^ ' Documentation/functions.rst | grep -oE '\b_?ibv_\w+')
	while read -r name; do
		count=$((count + 1))
		times=$(grep -cx "$name" <<<"$entries")
		[ "$times" -eq 1 ] || missing "Documentation/functions.rst: $name has $times entries"
	done < <(echo '#include <infiniband/verbs.h>' | gcc -E -Iuser/include -Iuapi - |
		grep -oP '(?<!enum )(?<!struct )\b_?ibv_\w+(?=\s*\()' | sort -u)
	grep -q "have $count functions" Documentation/limits.rst ||
		missing "Documentation/limits.rst: the headers declare $count functions"
	checked=$((checked + count))
}

# Every option of a tool, as its own help says, is in its page
check_options() {
	local tool page option
	for tool in user/tools/univerbs-*; do
		page=Documentation/man/${tool##*/}.1
		for option in $("$tool" --help | grep -E '^ +-' | grep -oE -- '--[a-z]+'); do
			sed 's/\\-/-/g' "$page" | grep -qF -- "$option" || missing "$page: $option is not described"
			checked=$((checked + 1))
		done
	done
}

# render PAGE: prints warnings; 77 without a renderer
render() {
	if command -v groff >/dev/null; then
		groff -man -ww -Tutf8 -z "$1" 2>&1
	elif command -v mandoc >/dev/null; then
		mandoc -T lint -W warning "$1" 2>&1
	else
		return 77
	fi
	! command -v man >/dev/null || { man --warnings -E UTF-8 -l -Tutf8 -Z "$1" >/dev/null; } 2>&1
	return 0
}

check_pages_render() {
	local page out name
	for page in "${pages[@]}"; do
		out=$(render "$page") || { unrendered=1; return; }
		[ -z "$out" ] || missing "$page: $out"
		name=${page##*/}
		grep -qE "^\.TH ${name%.*} ${name##*.} " "$page" || missing "$page: .TH does not say ${name%.*} ${name##*.}"
		# every page of ours that a page refers to must exist
		while read -r name; do
			[ -e "Documentation/man/$name" ] || missing "$page: there is no page $name"
		done < <(sed -nE 's/^\.BR (univerbs[a-z_-]*) \(([1-9])\).*/\1.\2/p' "$page" | sort -u)
		checked=$((checked + 1))
	done
}

# Every text is sound reStructuredText, where docutils are installed
check_texts_render() {
	local text out
	command -v rst2html5 >/dev/null || return 0
	for text in Documentation/*.rst; do
		out=$(rst2html5 --report=2 "$text" 2>&1 >/dev/null)
		[ -z "$out" ] || missing "$out"
		checked=$((checked + 1))
	done
}

# paths_in FILE: what begins with a folder of this repository, and the links of Markdown; not the titles of commits
paths_in() {
	sed -E '/^ {4}[a-z]+\/[a-z]+: /d' "$1" |
		grep -oE '(^|[^A-Za-z0-9_./-])(uapi|kernel|user|samples|tests|bench|packaging|Documentation|LICENSES|\.ci)/[A-Za-z0-9_./*-]*' |
		sed -E 's/^[^A-Za-z.]//; s/[.,]$//'
	case $1 in
	*.md) grep -oE '\]\([^)#:]+\)' "$1" | sed -E 's/^\]\(//; s/\)$//' ;;
	esac
}

# unbuilt PATH: what to do if PATH is a product of the build
unbuilt() { ! git check-ignore -q "$1" 2>/dev/null || echo " (run make first)"; }

check_paths() {
	local file path
	for file in "${texts[@]}" "${pages[@]}"; do
		[ -e "$file" ] || { missing "$file: there is no such file"; continue; }
		while read -r path; do
			compgen -G "$path" >/dev/null || missing "$file: there is no $path$(unbuilt "$path")"
			checked=$((checked + 1))
		done < <(paths_in "$file" | sort -u)
	done
}

# Each source file has its place in the map
check_map() {
	local file
	for file in uapi/*.h kernel/include/*.h kernel/core/*/*.c user/[a-z]*/*.c; do
		case $file in
		*.mod.c|user/tools/*) continue ;;
		esac
		in_text "${file##*/}" Documentation/architecture.rst || missing "Documentation/architecture.rst: $file is not in the map"
		checked=$((checked + 1))
	done
}

# "path: function()" in Documentation means that the function is defined or used there
check_places() {
	local file place path function
	for file in Documentation/*.rst; do
		while read -r place; do
			path=${place%%:*}
			function=${place##* }
			[ -e "$path" ] || { missing "$file: there is no $path"; continue; }
			grep -qw -- "${function%()}" "$path" || missing "$file: $path has no $function"
			checked=$((checked + 1))
		done < <(tr -s ' \n' ' ' <"$file" | grep -oE '(uapi|kernel|user)/[A-Za-z0-9_./-]+\.[ch]: [a-z_0-9]+\(\)' | sort -u)
	done
}

# The packages are of the version of the tree
check_version() {
	local version
	version=$(packaging/version)
	[ -n "$version" ] || { missing "kernel/include/version.h has no version"; return; }
	head -n 1 debian/changelog | grep -qF "univerbs ($version)" || missing "debian/changelog: the first entry is not of version $version"
	checked=$((checked + 1))
}

# Each SPDX identifier in use has its text
check_licences() {
	local id
	for id in $(grep -rhoE --include='*.[ch]' --include='*.sh' --include='*.map' --include=Makefile \
			'SPDX-License-Identifier: [A-Za-z0-9.() -]+' uapi kernel user tests packaging |
			sed 's/.*: //; s/[()]/ /g; s/\<OR\>\|\<AND\>\|\<WITH\>/ /g' | tr -s ' ' '\n' |
			grep '[A-Za-z0-9]$' | sort -u); do
		[ -e "LICENSES/$id" ] || missing "LICENSES/$id: there is no such text"
		checked=$((checked + 1))
	done
}

unrendered=''
check_contract
check_stale
check_pages_exist
check_functions
check_options
check_pages_render
check_texts_render
check_paths
check_map
check_places
check_version
check_licences
echo "$checked things checked"
[ $failed -eq 0 ] || exit 1
[ -z "$unrendered" ] || { echo "manual pages were not rendered: neither groff nor mandoc is installed"; exit 77; }
