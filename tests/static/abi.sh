#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Compares our library and headers with Debian's: every record's size and offsets, every enum
# value, macro constant and prototype, every exported symbol with version and type.
#
#	abi.sh [LIBRARY]	default: build/user/libibverbs.so.1
#
# Exits 0 if all is equal, 1 with the differences (< Debian's, > ours), 77 if there is nothing to
# compare with.

set -u
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
lib=${1:-$top/build/user/libibverbs.so.1}
stock_lib=/usr/lib/$(gcc -print-multiarch 2>/dev/null)/libibverbs.so.1
headers="verbs.h sa.h opcode.h tm_types.h arch.h sa-kern-abi.h"

# Newer than Debian 12's: what the functions of IBVERBS_1.15 to 1.18 and ibv_wr_opcode_str() need. symbols.sh has the
# symbols of newer releases.
newer_structs='ibv_(buf|dmah|dmah_init_attr|mr_init_attr|comp_cntr(_caps|_init_attr)?|qp_attach_comp_cntr_attr)'
newer_enums='ibv_(mr_init_attr_mask|tph_mem_type|dmah_init_attr_mask|comp_cntr_type|qp_attach_comp_cntr_op'
newer_enums="$newer_enums|placement_type|selectivity_level|query_qp_data_in_order_(flags|caps))"
newer_values='IBV_(WR_FLUSH|WC_FLUSH|ACCESS_FLUSH_[A-Z]*|QP_EX_WITH_FLUSH|ODP_SUPPORT_(FLUSH|ATOMIC_WRITE)|PORT_LINK_SPEED_XDR_SUP'
newer_values="$newer_values|EVENT_DEVICE_SPEED_CHANGE|PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC|DEVICE_CC_DMA_BOUNCE)"
# Members that structs have got at their ends
grown_structs='ibv_(qp_ex|port_attr)' grown_members='wr_flush|active_speed_ex'
newer_functions='_?ibv_([a-z_]*comp_cntr(_caps)?|(de)?alloc_dmah|reg_mr_ex|dm_export_dmabuf_fd|query_port_speed'
newer_functions="$newer_functions|(alloc|free)_buf|reg_buf_mr|export_buf_dmabuf_fd|wr_opcode_str|wr_flush) "
failed=0
skipped=

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# Clang, over all headers of one side; $1 is "stock" or "ours".
cc_side()
{
	side=$1
	shift
	if [ "$side" = ours ]; then
		set -- -I"$top/user/include" "$@"
	fi
	clang -std=gnu11 -D_GNU_SOURCE -w "$@"
}

# One line for each record, its members in order; anonymous ones lose their place in the file.
dump_records()
{
	cc_side "$1" -fsyntax-only -Xclang -fdump-record-layouts-complete "$tmp/unit.c" |
	sed -E 's/ at [^)]*:[0-9]+:[0-9]+\)/)/g; s/[[:space:]]+/ /g' |
	awk '/^\*\*\* Dumping/ { if (line) print line; line = ""; next }
	     NF { line = line ";" $0 }
	     END { print line }' |
	sed -E "s/;[^;]* ($grown_members);/;/; /^; 0 \| struct $grown_structs;/s/; *(\| )?\[sizeof=.*//" |
	grep -E '^; 0 \| (struct|union) _?(ibv|ib|verbs|ib_uverbs|_compat)_' | sort -u
}

# The names that the syntax tree gives to one kind of declaration, with their types.
dump_ast()
{
	cc_side "$1" -fsyntax-only -fno-color-diagnostics -Xclang -ast-dump "$tmp/unit.c" \
		> "$tmp/$1.ast" || exit 1
}

dump_functions()
{
	grep -E '^[|`]-FunctionDecl' "$tmp/$1.ast" |
	sed -nE "s/.* (_*[a-z0-9_]+) ('.*'.*)$/\1 \2/p" |
	grep -E '^(_*ib(v|v_|_)|(mult|mbps)_to_ibv|_*verbs_|htonll|ntohll)' | sort -u
}

# "tag NAME" for each enumerator; the tag is empty for enums without one. Left out is the kernel's
# list of drivers (RDMA_DRIVER_*), which is that of the kernel's headers on our side.
enumerators()
{
	awk '/-EnumDecl/ { tag = $NF ~ /^[a-z_][a-z_0-9]*$/ ? $NF : "" }
	     /-EnumConstantDecl/ {
		for (i = 1; i <= NF; i++)
			if ($i ~ /^(IBV?|ib)_[A-Za-z0-9_]+$/)
				print tag, $i
	     }' "$tmp/$1.ast" | sort -u
}

macros()
{
	names='_*ibv?_|_*verbs_|_*VERBS_|vext_|IBV?_|ETHERNET_LL|RDMA_UAPI|htonll|ntohll'
	cc_side "$1" -E -dM "$tmp/unit.c" | grep -E "^#define ($names)" |
	grep -vE '^#define (_H|__IB_|IB_USER_[A-Z_]*_H)'
}

# Lets each side print its own values.
dump_values()
{
	side=$1
	{
		echo '#include "unit.c"'
		echo '#include <stdio.h>'
		echo 'int main(void) {'
		enumerators "$side" | awk '{
			tag = NF > 1 ? $1 : "-"
			printf "printf(\"enum %s %s = %%lld\\n\", (long long)%s);\n", tag, $NF, $NF
		}'
		macros "$side" | awk '$2 ~ /^(IBV?|ETHERNET)_[A-Z0-9_]+$/ && NF > 2 {
			printf "printf(\"macro %s = %%lld, %%zu bytes\\n\",", $2
			printf "(long long)(%s), sizeof(%s));\n", $2, $2
		}'
		echo 'return 0; }'
	} > "$tmp/values-$side.c"
	cc_side "$side" -I"$tmp" -o "$tmp/values-$side" "$tmp/values-$side.c" || exit 1
	"$tmp/values-$side" | sort
}

# Macros that stand for a type, and those with parameters (whose bodies are each side's own).
dump_macros()
{
	macros "$1" | sed -E 's/^#define ([A-Za-z0-9_]+)\(.*/\1()/; s/^#define //' |
	awk '$1 ~ /\(\)$/ || $1 ~ /^ibv?_/ || $1 ~ /^[hn]to/' | sort -u
}

# name@version, type and (for data) size of what a library exports. No program depends on which private node is the
# default: programs do not link with it, they load drivers' libraries that did.
dump_symbols()
{
	readelf -W --dyn-syms "$1" |
	awk '$7 != "UND" && $5 != "LOCAL" && $8 ~ /@/ {
		print $8, $4, $4 == "OBJECT" ? $3 : "-"
	}' | grep -v '^[A-Z_0-9.]*@' | sed '/PRIVATE/s/@@/@/' | sort -u
}

dump_versions()
{
	readelf -W -V "$1" | sed -n '/definition section/,/^$/p' |
	sed -nE 's/.*Name: ([A-Z0-9_.]+)$/node \1/p; s/.*Parent [0-9]+: ([^ ]+)$/ after \1/p' |
	awk '/^node/ { if (line) print line; line = $0; next } { line = line $0 }
	     END { if (line) print line }' | sort
	readelf -W -d "$1" | sed -nE 's/.*(Library soname.*)/\1/p'
}

# Prints lines that only one side has; $2 is an expression for lines that only our side may have.
compare()
{
	what=$1
	surplus=${2:-^$}
	diff "$tmp/$what.stock" "$tmp/$what.ours" | grep '^[<>]' |
		grep -vE "^> $surplus" > "$tmp/$what.diff"
	count=$(wc -l < "$tmp/$what.stock")
	if [ "$count" -eq 0 ]; then
		echo "$what: nothing found on Debian's side"
		failed=1
	elif [ -s "$tmp/$what.diff" ]; then
		echo "$what: differ"
		sed 's/;/\n      /g' "$tmp/$what.diff"
		failed=1
	else
		echo "$what: $count equal"
	fi
}

compare_headers()
{
	for header in $headers; do
		echo "#include <infiniband/$header>"
	done > "$tmp/unit.c"
	for side in stock ours; do
		dump_ast $side
		for what in records functions values macros; do
			dump_$what "$side" > "$tmp/$what.$side"
		done
	done
	compare records "; 0 \| struct $newer_structs;"
	compare values "(enum $newer_enums |(enum [a-z0-9_]+|macro) $newer_values = )"
	compare macros '__verbs_'
	# Functions that Debian's library exports and its headers do not declare, and helpers.
	compare functions \
		"(ibv_get_sysfs_path|ibv_read_sysfs_file|ibv_do(nt)?fork_range|__verbs_|$newer_functions)"
}

compare_symbols()
{
	for what in symbols versions; do
		dump_$what "$stock_lib" > "$tmp/$what.stock"
		dump_$what "$lib" > "$tmp/$what.ours"
	done
	node='(1\.1[5-8]|PRIVATE_[0-9]+)'
	compare symbols "(univerbs_[a-z_]+@@UNIVERBS_1\.[0-9]+|[a-z_0-9]+@@?IBVERBS_$node) "
	compare versions "node (UNIVERBS_1\.[0-9]+|IBVERBS_$node( after IBVERBS_1\.1[4-7])?)\$"
}

if command -v clang > /dev/null && [ -e /usr/include/infiniband/verbs.h ]; then
	compare_headers
else
	skipped="$skipped headers (needs clang and libibverbs-dev)"
fi
if [ ! -e "$stock_lib" ]; then
	skipped="$skipped symbols (needs libibverbs1)"
elif [ ! -e "$lib" ]; then
	skipped="$skipped symbols (there is no ${lib#"$top"/})"
else
	compare_symbols
fi

[ -z "$skipped" ] || echo "not compared:$skipped"
[ $failed -eq 0 ] || exit 1
[ -z "$skipped" ] || exit 77
