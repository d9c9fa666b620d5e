# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# awk -v make=map|symver -f symbols.awk libibverbs.symbols
#
# map: the version script. It names the symbols that have one version; the linker ignores it for symbols with a directive.
# "local" is only in the last node: in an earlier node it would hide the names that directives define.
# symver: for versions.c, a directive for each other pair of symbol and version.

/^#/ || NF == 0 { next }

NF != 3 {
	printf "%s:%d: expected a symbol, a version and an answer\n", FILENAME, FNR >"/dev/stderr"
	failed = 1
	exit 1
}

{
	node = $2
	later = sub(/\+$/, "", node)
	if (!(node in number)) {
		number[node] = ++nodes
		name[nodes] = node
	}
	symbol[++symbols] = $1
	first[symbols] = number[node]
	all[symbols] = later
	answer[symbols] = $3
}

function has_directive(i) { return all[i] || answer[i] != "library" }
function is_public(node) { return name[node] ~ /^IBVERBS_1\./ }
function is_private(node) { return name[node] ~ /^IBVERBS_PRIVATE_/ }

# An empty list is a syntax error, so the label is printed with the first name.
function put_map(node, i, parent, label)
{
	for (node = 1; node <= nodes; node++) {
		printf "%s {\n", name[node]
		label = "\tglobal:\n"
		for (i = 1; i <= symbols; i++)
			if (first[i] == node && !has_directive(i)) {
				printf "%s\t\t%s;\n", label, symbol[i]
				label = ""
			}
		if (node == nodes)
			print "\tlocal:\n\t\t*;"
		print "}" (is_public(node) ? parent : "") ";\n"
		parent = " " name[node]
	}
}

# A version that only old programs ask for is never the default.
function put_directive(i, node, at)
{
	at = node == first[i] && is_private(node) ? "@@" : "@"
	printf "__asm__(\".symver %s, %s%s%s\");\n",
		answer[i] == "library" ? symbol[i] : "univ_answer_" answer[i], symbol[i], at, name[node]
}

function put_symver(i, node)
{
	for (i = 1; i <= symbols; i++) {
		if (!has_directive(i))
			continue
		put_directive(i, first[i])
		for (node = first[i] + 1; all[i] && is_private(node); node++)
			put_directive(i, node)
	}
}

END {
	if (failed)
		exit 1
	if (make == "map")
		put_map()
	else
		put_symver()
}
