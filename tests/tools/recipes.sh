#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The commands of Documentation/recipes.rst, as they stand there, run by an ordinary user: each block of them in turn, with
# what it prints. ONLY=N runs the N-th alone.
#   tests/tools/recipes.sh --list     prints the commands that it runs

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/host.sh
. tests/host.sh

# The output of the blocks, in their order; "!" where the status is not 0
expected=(
	'hca_id:.*uroce0.*1000 iters'
	'1000 iters'
	'hca_id:.*uroce0'
	'1000 iters.*fault_drop [1-9]'
	'PORT_DOWN'
	"!Couldn't create CQ"
	'100000 iters'
	'host1.*host2|host2.*host1'
	'hca_id:.*rxe0'
	'!univerbs: ibv_reg_mr: .*RLIMIT_MEMLOCK'
	'!== versions'
)

# block N: the N-th block of commands, which are those behind a line that ends with "::"
block() {
	awk -v n="$1" '
		/::$/ && !/^\.\./ { if (inside) inside = 0; wait = 1; next }
		wait && /^    / { wait = 0; inside = 1; count++ }
		inside && /^[^ ]/ { inside = 0 }
		inside && count == n { print substr($0, 5) }' Documentation/recipes.rst
}

if [ "${1:-}" = --list ]; then
	for n in "${!expected[@]}"; do
		block $((n + 1))
	done
	exit
fi
if [ -n "${RECIPE:-}" ]; then
	wanted=${expected[RECIPE - 1]}
	output=$(cd "$RECIPE_DIR" && setpriv --reuid nobody --regid nogroup --clear-groups \
		env HOME="$RECIPE_DIR" TMPDIR="$RECIPE_DIR/tmp" bash -c "$(cd "$OLDPWD" && block "$RECIPE")" 2>&1)
	status=$?
	[ "${wanted:0:1}" = ! ] || [ $status -eq 0 ] || { echo "status $status:"; echo "$output"; exit 1; }
	tr '\n' ' ' <<<"$output" | grep -qE -- "${wanted#!}" || { echo "nothing like \"${wanted#!}\" in:"; echo "$output"; exit 1; }
	exit
fi

if [ -z "$(block ${#expected[@]})" ] || [ -n "$(block $((${#expected[@]} + 1)))" ]; then
	echo "not ok - recipes: ${#expected[@]} blocks are expected"
	exit 1
fi
RECIPE_DIR=$(mktemp -d "${TMPDIR:-/tmp}/univerbs-recipes.XXXXXX") || exit
export RECIPE_DIR
trap 'rm -rf "$RECIPE_DIR"' EXIT
mkdir "$RECIPE_DIR/tmp" && ln -s "$PWD/build" "$RECIPE_DIR/build" && chown -R nobody "$RECIPE_DIR" || exit
for n in "${!expected[@]}"; do
	n=$((n + 1))
	[ "${ONLY:-$n}" = $n ] || continue
	host_test "recipe $n: $(block $n | head -n 1 | cut -c -90)" 1600 env RECIPE=$n "$PWD/tests/tools/recipes.sh"
done
host_finish
