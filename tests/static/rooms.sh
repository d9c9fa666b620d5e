#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Rooms keep their directions: which folder of a tree includes headers of which, and calls functions of which, is compared
# with rooms.table. Calls are taken from the symbols of the object files, so the trees have to be built.
#
#	rooms.sh [--arrows]	--arrows: also prints which room uses which, and how often
#
# Exits 0, 1 with the lines that break a rule, or 77 if a room is not built and nothing else is wrong.

set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
table=tests/static/rooms.table
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0 unbuilt='' checked=0

wrong() {
	echo "$*"
	failed=1
}

rooms=()
declare -A header uses
while read -r folder public rest; do
	case $folder in ''|\#*) continue ;; esac
	rooms+=("$folder")
	header[$folder]=$public
	uses[$folder]=" ${rest:-} "
done <"$table"

# A room uses rooms of its own tree that stand above it in the table
check_table() {
	local folder room known=' '
	for folder in "${rooms[@]}"; do
		[ -d "$folder" ] || wrong "$table: there is no $folder"
		for room in ${uses[$folder]}; do
			[[ $known == *" ${folder%/*}/$room "* ]] || wrong "$table: $folder uses $room, which is not above it"
		done
		known+="$folder "
	done
	# Each folder of a tree with rooms is a room
	for folder in $(printf '%s\n' "${rooms[@]%/*}" | sort -u); do
		for room in $(find "$folder" -mindepth 2 -maxdepth 2 -name '*.[ch]' ! -name '*.mod.c' -printf '%h\n' | sort -u); do
			[ -n "${header[$room]:-}" ] || is_public "$room" || wrong "$table: $room has no row"
		done
	done
}

# Folders of headers for programs (user/include, user/tools) are no rooms
is_public() { case $1 in */include|*/tools) return 0 ;; esac; return 1; }

# may_use FROM TO WHY
may_use() {
	[[ ${uses[$1]} == *" ${2##*/} "* ]] || wrong "$3: $1 must not use $2"
	checked=$((checked + 1))
}

# "FILE NAME" for each #include of quotes in a room
includes() {
	grep -HoE '^#include "[^"]+"' "$1"/*.[ch] 2>/dev/null | grep -v '\.mod\.c:' | sed -E 's/:#include "(.*)"/ \1/'
}

# leads_to FROM NAME: sets $to to where an include leads, a file of the same folder or one of another room of the tree, if to one
leads_to() {
	local from=$1 name=$2 tree=${1%/*} room
	to=''
	case $name in
	../*/*)
		room=$tree/${name#../}
		room=${room%/*}
		[ -z "${header[$room]:-}" ] || to=$room
		return
		;;
	esac
	[ ! -e "$from/$name" ] || { to=$from; return; }
	for room in "${rooms[@]}"; do
		[ "${room%/*}" = "$tree" ] || continue
		if [ -e "$room/$name" ] || { [ "$name" = "${room##*/}/${name##*/}" ] && [ -e "$tree/$name" ]; }; then
			to=$room
			return
		fi
	done
}

check_includes() {
	local folder file name to
	for folder in "${rooms[@]}"; do
		while read -r file name; do
			leads_to "$folder" "$name"
			[ -n "$to" ] && [ "$to" != "$folder" ] || continue
			echo "$folder $to include" >>"$work/arrows"
			may_use "$folder" "$to" "$file includes $name"
			[ "${header[$to]}" = '*' ] || [[ ",${header[$to]}," == *",${name##*/},"* ]] ||
				wrong "$file includes $name: other rooms include ${to#*/}/${header[$to]}"
		done < <(includes "$folder")
	done
}

# The header for others begins with a description of the room, which names the things that it does not know
check_headers() {
	local folder file
	for folder in "${rooms[@]}"; do
		case ${header[$folder]} in '*'|-) continue ;; esac
		file=$folder/${header[$folder]%%,*}
		[ -e "$file" ] || { wrong "$table: there is no $file"; continue; }
		sed -n '1,/\*\//p' <(sed 1d "$file") | tr -s '[:space:]*' ' ' | grep -q 'does not know' ||
			wrong "$file: the first comment does not say what the room does not know"
		checked=$((checked + 1))
	done
}

# The objects of a room, without objects of sources that were removed
objects() {
	local object name
	for object in "$1"/*.o "build/$1"/*.o; do
		name=${object##*/}
		[ -e "$object" ] && [ -e "$1/${name%.o}.c" ] && [[ $name != *.mod.o ]] && echo "$object"
	done
}

check_calls() {
	local folder symbol to tree found
	for folder in "${rooms[@]}"; do
		found=$(objects "$folder")
		[ -n "$found" ] || { unbuilt+=" $folder"; continue; }
		# shellcheck disable=SC2086 # one word for each object
		nm $found >"$work/symbols" 2>/dev/null || wrong "$folder: nm failed"
		awk -v folder="$folder" 'NF == 3 && $2 ~ /[TDBRCVW]/ { print $3, folder }' "$work/symbols" >>"$work/defined"
		awk -v folder="$folder" 'NF == 2 && $1 == "U" { print $2, folder }' "$work/symbols" | sort -u >>"$work/wanted"
	done
	[ -s "$work/wanted" ] || return
	sort -o "$work/defined" "$work/defined"
	sort -o "$work/wanted" "$work/wanted"
	while read -r symbol folder to; do
		tree=${folder%/*}
		[ "$folder" != "$to" ] && [ "${to%/*}" = "$tree" ] || continue
		echo "$folder $to call" >>"$work/arrows"
		may_use "$folder" "$to" "$symbol()"
	done < <(join "$work/wanted" "$work/defined")
}

check_table
check_includes
check_headers
check_calls
[ "${1:-}" != --arrows ] || sort "$work/arrows" | uniq -c
echo "$checked arrows between ${#rooms[@]} rooms checked"
[ $failed -eq 0 ] || exit 1
[ -z "$unbuilt" ] || { echo "not built (run make first):$unbuilt"; exit 77; }
