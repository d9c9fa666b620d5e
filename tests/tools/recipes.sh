#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The commands of Documentation/recipes.rst, as they stand there, run by an ordinary user: each block of them in turn, with
# what it prints, then the commands of the table. ONLY=N runs the N-th block alone, ONLY=table the table. A block for a
# machine with univerbs installed runs as root of a virtual host.
#   tests/tools/recipes.sh --list     prints the commands of the blocks

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/host.sh
. tests/host.sh

# The output of the blocks, in their order; "!" where the status is not 0, "@" where univerbs has to be installed
expected=(
	'hca_id:.*uroce0.*1000 iters'
	'1000 iters'
	'@t_typical.*ping data: rdma-ping-9:.*time for 20 loops'
	'hca_id:.*uroce0'
	'1000 iters.*fault_drop [1-9]'
	'PORT_DOWN'
	"!Couldn't create CQ"
	'100000 iters'
	'time for 20 loops'
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

# table: prints the commands of the table, one a line
table() { sed -nE 's/^[a-zA-Z].*  +``(.*)``  +``[^`]*``$/\1/p' Documentation/recipes.rst; }

# as_user COMMAND: runs a command line as a user without privileges, in a folder of that user with the link "build"
as_user() {
	(cd "$RECIPE_DIR" && setpriv --reuid nobody --regid nogroup --clear-groups \
		env HOME="$RECIPE_DIR" TMPDIR="$RECIPE_DIR/tmp" bash -c "$1" 2>&1)
}

# installed COMMANDS: runs them in a virtual host with the device u0 over lo, and with $ADDRESS of its other device.
# univerbs-run has to find the library by itself.
installed() {
	{
		printf 'set -e\nunset LD_LIBRARY_PATH\nPATH=%q:$PATH\n' "$PWD/build/user"
		printf 'ADDRESS=$(getent hosts host1 | cut -d " " -f 1)\nrdma link add u0 type uroce netdev lo\n'
		printf 'until grep -q ffff:7f00:0001 /sys/class/infiniband/u0/ports/1/gids/[0-3]; do sleep 0.1; done\n%s\n' "$1"
	} >"$RECIPE_DIR/installed"
	as_user 'build/user/univerbs-vm --root -- bash installed'
}

# sort_table: fills the words in capitals in. $on_host gets the commands that start virtual hosts, $in_host the commands for a
# virtual host. Two commands are not run here: make deb, which the part "packages" runs, and docker run, which needs a daemon
# and an image. tests/guest/59-containers.sh makes such a container by unshare.
sort_table() {
	local command
	on_host=() in_host=''
	while read -r command; do
		command=${command/python3 PROGRAM/python3 $PWD/tests/programs/pyverbs_write.py uroce0}
		command=${command/PROGRAM/ibv_devinfo}
		case $command in
		'make deb' | 'docker run '*) ;;
		univerbs-vm*) on_host+=("build/user/$command") ;;
		*) in_host+=$command$'\n' ;;
		esac
	done < <(table)
}

# table_tests: a test for each command that starts virtual hosts, and one for all of those that run in a virtual host
table_tests() {
	local command
	sort_table
	[ ${#on_host[@]} -ge 2 ] && [ "$(wc -l <<<"$in_host")" -ge 8 ] || { echo "not ok - recipes: the table was not read"; exit 1; }
	echo '0s set drop 5' >"$RECIPE_DIR/FILE"
	{
		printf 'set -ex\nPATH=%q:$PATH\nmountpoint -q /sys/kernel/tracing || mount -t tracefs none /sys/kernel/tracing\n' \
			"$PWD/build/user"
		printf '%s' "$in_host"
	} >"$RECIPE_DIR/table"
	for command in "${on_host[@]}" 'build/user/univerbs-vm --root -- bash table'; do
		host_again="ONLY=table tests/tools/recipes.sh" host_test "recipes, table: $command" 1600 \
			env RECIPE_COMMAND="$command" "$PWD/tests/tools/recipes.sh"
	done
}

if [ "${1:-}" = --list ]; then
	for n in "${!expected[@]}"; do
		block $((n + 1))
	done
	exit
fi
if [ -n "${RECIPE:-}" ]; then
	wanted=${expected[RECIPE - 1]}
	runner=as_user
	[ "${wanted:0:1}" != @ ] || runner=installed
	output=$($runner "$(block "$RECIPE")")
	status=$?
	[ "${wanted:0:1}" = ! ] || [ $status -eq 0 ] || { echo "status $status:"; echo "$output"; exit 1; }
	wanted=${wanted#[@!]}
	tr '\n' ' ' <<<"$output" | grep -qE -- "$wanted" || { echo "nothing like \"$wanted\" in:"; echo "$output"; exit 1; }
	exit
fi

if [ -n "${RECIPE_COMMAND:-}" ]; then
	PATH=/usr/sbin:/usr/bin:/sbin:/bin as_user "$RECIPE_COMMAND"
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
	host_again="ONLY=$n tests/tools/recipes.sh" host_test "recipe $n: $(block $n | head -n 1 | cut -c -90)" 1600 \
		env RECIPE=$n "$PWD/tests/tools/recipes.sh"
done
[[ ${ONLY:-table} != table ]] || table_tests
host_finish
