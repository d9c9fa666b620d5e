#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The description of the node for syzkaller, as tests/fuzz/syzkaller/generate completes it, against uapi/univerbs.h: each
# ioctl is there with the struct that the header names, each struct has the same fields at the same places, and every name
# that is used is defined.

set -u
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
text=$work/dev_univerbs.txt
tests/fuzz/syzkaller/generate uapi/univerbs.h tests/fuzz/syzkaller/dev_univerbs.in >"$text" || exit 1

# ioctl struct, a line each
awk '/^#define UNIV_[A-Z_]+[ \t]+UNIV_IO\(.*struct / { match($0, /struct univ_[a-z_]+/)
	print $2, substr($0, RSTART + 7, RLENGTH - 7) }' uapi/univerbs.h | sort >"$work/uapi"
sed -nE 's/^ioctl\$(UNIV_[A-Z_]+)\(fd fd_univerbs, cmd const\[(UNIV_[A-Z_]+)\], arg ptr\[inout, (univ_[a-z_]+).*/\1 \2 \3/p' \
	"$text" | awk '$1 == $2 { print $1, $3 }' | sort >"$work/text"
[ "$(wc -l <"$work/uapi")" -ge 20 ] || { echo "found no ioctls in uapi/univerbs.h"; exit 1; }
diff "$work/uapi" "$work/text" || { echo "$text: ioctls differ (< uapi, > descriptions)"; exit 1; }

# A struct of C for each described struct, and the offset and size of every field on both sides, for the compiler to
# compare
awk '
function fail(text) { print text > "/dev/stderr"; failed = 1; exit 1 }
function ctype(t,    base, bits) {
	if (match(t, /int(8|16|32|64)\]$/) || t ~ /^int(8|16|32|64)(\[|$)/) {
		bits = t
		sub(/^.*int/, "", bits)
		sub(/[^0-9].*$/, "", bits)
		if (t ~ /^int/) { bits = substr(t, 4); sub(/[^0-9].*$/, "", bits) }
		return "__u" bits
	}
	if (t ~ /^vma64/ || t ~ /^ptr64\[/) return "__u64"
	if (t == "ipv6_addr") return "struct { __u8 byte[16]; }"
	if (t in resource) return "__u32"
	if (t == "HANDLE") return "__u32"
	base = t
	sub(/\[.*/, "", base)
	if (base in known) return "struct syz_" base
	fail("unknown type " t)
}
/^resource / { name = $2; sub(/\[.*/, "", name); resource[name] = 1; next }
/^(type )?univ_[a-z_]+(\[[A-Z]+\])? \{$/ {
	current = $1 == "type" ? $2 : $1
	sub(/\[.*/, "", current)
	known[current] = 1
	order[++n] = current
	next
}
/^}/ { current = ""; next }
current != "" && /^\t/ {
	name = $1
	type = $0
	sub(/^\t[a-z_0-9]+\t/, "", type)
	sub(/\t.*/, "", type)
	fields[current] = fields[current] " " name
	of[current, name] = type
}
END {
	if (failed) exit 1
	print "#include <stddef.h>\n#include <univerbs.h>"
	# those that are parts of others first
	print_all("univ_hdr")
	print_all("univ_ah_attr")
	print_all("univ_ring_map")
	print_all("univ_gid_entry")
	print_all("univ_qp_attr")
	print_all("univ_flow_spec")
	for (i = 1; i <= n; i++) print_all(order[i])
}
function print_all(s,    f, m, k, t, count) {
	if (s in done) return
	if (!(s in known)) fail("struct " s " is not described")
	done[s] = 1
	m = split(fields[s], f, " ")
	print "struct syz_" s " {"
	for (k = 1; k <= m; k++) {
		t = of[s, f[k]]
		count = ""
		if (t ~ /^array\[/) {
			count = t
			sub(/^.*, /, "", count)
			sub(/\]$/, "", count)
			sub(/^array\[/, "", t)
			sub(/, [0-9]+\]$/, "", t)
			count = "[" count "]"
		}
		print "\t" ctype(t) " " f[k] count ";"
	}
	print "} __attribute__((aligned(__alignof__(struct " s "))));"
	print "_Static_assert(sizeof(struct syz_" s ") == sizeof(struct " s "), \"" s " has another size\");"
	for (k = 1; k <= m; k++) {
		print "_Static_assert(offsetof(struct syz_" s ", " f[k] ") == offsetof(struct " s ", " f[k] "), \"" s "." f[k] " lies elsewhere\");"
		print "_Static_assert(sizeof(((struct syz_" s " *)0)->" f[k] ") == sizeof(((struct " s " *)0)->" f[k] "), \"" s "." f[k] " has another size\");"
	}
}' "$text" >"$work/check.c" || exit 1
gcc -std=gnu11 -Iuapi -fsyntax-only "$work/check.c" || { echo "$text does not agree with uapi/univerbs.h"; exit 1; }

# Two fields that became one, or swapped reserved ones, would pass the compiler: the names, in order
names() {
	awk -v syz="$1" '
	/^(struct |type )?univ_[a-z_]+(\[[A-Z]+\])? \{$/ { s = $1 == "struct" || $1 == "type" ? $2 : $1; sub(/\[.*/, "", s); next }
	/^}/ { s = ""; next }
	s != "" && /^\t/ && (syz || /;/) {
		if (syz) name = $1
		else { line = $0; sub(/;.*/, "", line); sub(/\[.*/, "", line); k = split(line, w, /[ \t]+/); name = w[k] }
		print s "." name
	}' "$2" | sort
}
names 1 "$text" >"$work/text"
names '' uapi/univerbs.h | grep -vE '^univ_event\.' >"$work/uapi"
diff "$work/uapi" "$work/text" || { echo "$text: fields differ (< uapi, > descriptions)"; exit 1; }

# Flags and resources that are used are defined, and brackets are closed
for name in $(grep -oE 'flags\[univ_[a-z_]+' "$text" | sed 's/flags\[//' | sort -u); do
	grep -qE "^$name = " "$text" || { echo "$text: there are no flags $name"; exit 1; }
done
# Each handle is a resource, so that syzkaller passes handles on; ibv_import_pd and its kin take one of any object
while read -r name; do
	grep -qE "^resource $name\\[" "$text" || { echo "$text: a handle is no resource: '$name'"; exit 1; }
done < <(grep -oE 'univ_destroy\[[^]]*\]\]' "$text" | sed -E 's/.*\[(.*)\]\]/\1/'
	awk '/^(type )?univ_[a-z_]+(\[[A-Z]+\])? \{$/ { s = $1 }
	$1 == "handle" && $2 != "HANDLE" && s != "univ_handle_query" { print $2 }' "$text")
awk '{ line = $0; o = gsub(/[\[({]/, "", line); c = gsub(/[\])}]/, "", line); depth += o - c }
	depth < 0 || (/^}/ && depth) { print FILENAME ":" NR ": brackets"; exit 1 }
	END { exit depth != 0 }' "$text" || { echo "$text: brackets do not match"; exit 1; }
echo "$(wc -l <"$work/uapi") fields compared"
