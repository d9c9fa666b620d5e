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
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

missing() {
	echo "$*"
	failed=1
}

# in_text FILE COMPLAINT NAME...: each name is a word of the file, so that UNIV_QP_QUERY_X does not count for UNIV_QP_QUERY
in_text() {
	local file=$1 complaint=$2 name
	shift 2
	while read -r name; do
		missing "$file: $name $complaint"
	done < <(printf '%s\n' "$@" | sort -u | comm -23 - <(grep -oE '[A-Za-z0-9_.-]*[A-Za-z0-9_]' "$file" | sort -u))
	checked=$((checked + $#))
}

check_contract() {
	local ioctls reasons
	mapfile -t ioctls < <(sed -nE 's/^#define (UNIV_[A-Z0-9_]+)[[:space:]]+UNIV_IO\(.*/\1/p' uapi/univerbs.h)
	[ ${#ioctls[@]} -ge 20 ] || missing "found only ${#ioctls[@]} ioctls in uapi/univerbs.h"
	in_text Documentation/uapi.rst "is not described" "${ioctls[@]}"
	mapfile -t reasons < <(sed -nE 's/^[[:space:]]*(UNIV_(REASON|LIMIT)_[A-Z0-9_]+).*/\1/p' uapi/univerbs.h | sort -u |
		grep -vxE 'UNIV_LIMIT_(NONE|COUNT)')
	[ ${#reasons[@]} -ge 40 ] || missing "found only ${#reasons[@]} reasons in uapi/univerbs.h"
	in_text Documentation/errors.rst "is not described" "${reasons[@]}"
}

# The other way round: a name that neither the contract nor the programs of tests have any more
check_stale() {
	local known=$work/known named=$work/named file name
	grep -rohwE --include='*.[ch]' 'UNIV_[A-Z0-9_]+' uapi kernel user tests/user/lib | sort -u >"$known"
	grep -owE 'UNIV_[A-Z0-9]+(_[A-Z0-9]+)+' "${texts[@]}" "${pages[@]}" | sort -u >"$named"
	while IFS=: read -r file name; do
		missing "$file: there is no $name"
	done < <(awk -F : 'NR == FNR { known[$1]; next } !($2 in known)' "$known" "$named")
	checked=$((checked + $(wc -l <"$named")))
}

own_functions() {
	sed -nE 's/^(univerbs_[a-z_]+) +UNIVERBS_1\.[0-9]+ .*/\1/p' user/abi/libibverbs.symbols
}

check_pages_exist() {
	local functions page
	mapfile -t functions < <(own_functions)
	[ ${#functions[@]} -gt 0 ] || missing "found no function of version UNIVERBS_1.x in user/abi/libibverbs.symbols"
	in_text Documentation/man/univerbs.7 "is not mentioned" "${functions[@]}"
	for page in "${functions[@]/%/.3}" univerbs-run.1; do
		[ -e "Documentation/man/$page" ] || missing "Documentation/man/$page: there is no such page"
	done
	checked=$((checked + 1))
}

# Each function that programs call has one entry in functions.rst, and their number in limits.rst is right.
check_functions() {
	local name count=0
	local -A entries=()
	# Texts about a function are indented, and may name others.
	while read -r name; do
		entries[$name]=$((${entries[$name]:-0} + 1))
	done < <(grep -v '^ ' Documentation/functions.rst | grep -oE '\b_?ibv_\w+')
	while read -r name; do
		count=$((count + 1))
		[ "${entries[$name]:-0}" -eq 1 ] || missing "Documentation/functions.rst: $name has ${entries[$name]:-0} entries"
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

# render PAGE...: prints warnings; 77 without a renderer
render() {
	if command -v groff >/dev/null; then
		groff -man -ww -Tutf8 -z "$@" 2>&1
	elif command -v mandoc >/dev/null; then
		mandoc -T lint -W warning "$@" 2>&1
	else
		return 77
	fi
	! command -v man >/dev/null || { man --warnings -E UTF-8 -l -Tutf8 -Z "$@" >/dev/null; } 2>&1
	return 0
}

check_pages_render() {
	local page out name
	out=$(render "${pages[@]}") || { unrendered=1; return; }
	[ -z "$out" ] || missing "$out"
	for page in "${pages[@]}"; do
		name=${page##*/}
		grep -qE "^\.TH ${name%.*} ${name##*.} " "$page" || missing "$page: .TH does not say ${name%.*} ${name##*.}"
	done
	# every page of ours that a page refers to must exist
	while IFS=: read -r page name; do
		[ -e "Documentation/man/$name" ] || missing "$page: there is no page $name"
	done < <(grep -HE '^\.BR univerbs[a-z_-]* \([1-9]\)' "${pages[@]}" |
		sed -E 's/:\.BR (univerbs[a-z_-]*) \(([1-9])\).*/:\1.\2/' | sort -u)
	checked=$((checked + ${#pages[@]}))
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

# paths_in FILE...: prints "FILE:PATH" for what begins with a folder of this repository, and for the links of Markdown; not for
# the titles of commits
paths_in() {
	local folders='(uapi|kernel|user|samples|tests|bench|packaging|Documentation|LICENSES|[.]ci)'
	awk -v path="[^A-Za-z0-9_./-]$folders/[A-Za-z0-9_./*-]*" '
		/^    [a-z]+\/[a-z]+: / { next }
		{
			for (rest = " " $0; match(rest, path); rest = substr(rest, RSTART + RLENGTH)) {
				found = substr(rest, RSTART + 1, RLENGTH - 1)
				sub(/[.,]$/, "", found)
				print FILENAME ":" found
			}
		}' "$@"
	grep -HoE '\]\([^)#:]+\)' ./*.md | sed -E 's/^\.\/([^:]*:)\]\(/\1/; s/\)$//'
}

# unbuilt PATH: what to do if PATH is a product of the build
unbuilt() { ! git check-ignore -q "$1" 2>/dev/null || echo " (run make first)"; }

check_paths() {
	local file path
	for file in "${texts[@]}"; do
		[ -e "$file" ] || missing "$file: there is no such file"
	done
	while IFS=: read -r file path; do
		compgen -G "$path" >/dev/null || missing "$file: there is no $path$(unbuilt "$path")"
		checked=$((checked + 1))
	done < <(paths_in "${texts[@]}" "${pages[@]}" | sort -u)
}

# Each source file has its place in the map
check_map() {
	local file files=()
	for file in uapi/*.h kernel/include/*.h kernel/core/*/*.c user/[a-z]*/*.c; do
		case $file in
		*.mod.c|user/tools/*) continue ;;
		esac
		files+=("${file##*/}")
	done
	in_text Documentation/architecture.rst "is not in the map" "${files[@]}"
}

# places: prints "TEXT PATH FUNCTION" for each "path: function()" in Documentation
places() {
	awk '
		function show() {
			gsub(/[ \t]+/, " ", text)
			while (match(text, /(uapi|kernel|user)\/[A-Za-z0-9_.\/-]+\.[ch]: [a-z_0-9]+\(\)/)) {
				place = substr(text, RSTART, RLENGTH - 2)
				sub(/:/, "", place)
				print name, place
				text = substr(text, RSTART + RLENGTH)
			}
			text = ""
		}
		FNR == 1 { show(); name = FILENAME }
		{ text = text " " $0 }
		END { show() }' Documentation/*.rst | sort -u
}

# Such a function is defined or used there
check_places() {
	local file path function paths
	mapfile -t paths < <(places | cut -d ' ' -f 2 | sort -u)
	grep -oHE '[A-Za-z_0-9]+' "${paths[@]}" 2>/dev/null | sort -u >"$work/words"
	while read -r file path function; do
		missing "$file: $path has no $function()"
	done < <(places | awk 'NR == FNR { known[$1]; next } !(($2 ":" $3) in known)' "$work/words" -)
	checked=$((checked + $(places | wc -l)))
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
