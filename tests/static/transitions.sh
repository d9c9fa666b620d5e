#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The table of a queue pair's transitions by which univerbs-explain judges over the stock stack equals that of the module,
# whose licence keeps the library from using it.

set -u
cd "$(dirname "$0")/../.." || exit 1

# table FILE: its rows, with the names that programs use
table() { sed -n '/^static const struct qp_transition transitions/,/^};/p' "$1" | sed 's/\bIB_QP/IBV_QP/g' | tr -s ' \t\n' ' '; }

module=$(grep -rl --include='*.c' '^static const struct qp_transition transitions' kernel/core)
theirs=$(table "$module")
[ ${#theirs} -gt 1000 ] || { echo "found no table in kernel/core"; exit 1; }
[ "$theirs" = "$(table user/tools/explain/transitions.h)" ] || {
	echo "user/tools/explain/transitions.h and $module differ:"
	diff <(table "$module" | sed 's/},/},\n/g') <(table user/tools/explain/transitions.h | sed 's/},/},\n/g')
	exit 1
}
