#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Each header of the modules compiles alone with the warnings of W=1, by the command that compiled a source file of its module.
# The stage "kernels" compiles the modules themselves with W=1, variants.sh the library, and tests/static/sparse.sh has sparse
# read the modules.

set -u
cd "$(dirname "$0")/../.." || exit 1
repo=$PWD
# shellcheck source=../vm/kernel.sh
. tests/vm/kernel.sh
release=$(pick_release)
[ -n "$release" ] || { echo "no kernel headers (make deps)"; exit 77; }
kdir=${KDIR:-/lib/modules/$release/build}
extra='-Wextra -Wunused -Wmissing-declarations -Wmissing-prototypes -Wold-style-definition'
extra+=' -Wmissing-include-dirs -Wno-unused-parameter -Wno-missing-field-initializers -Wno-sign-compare -Wno-type-limits'
export extra

# command_of MODULE: the compiler and its options, without those that name the source file, the object or its dependencies
command_of() {
	local saved=(kernel/"$1"/*/.*.o.cmd)
	sed -n '1 { s/^[^=]*:= *//; s/ -c -o .*//; s/-Wp,-MMD,[^ ]*//p }' "${saved[0]}"
}

# alone HEADER: prints the compiler's messages about it
# shellcheck disable=SC2317 # called through xargs
alone() {
	local said
	said=$(eval "$command" "$extra" -fsyntax-only -include "$1" -x c /dev/null 2>&1) && [ -z "$said" ] && return
	printf '%s does not compile alone:\n%s\n' "$1" "$said"
	return 1
}
export -f alone

cd "$kdir" || exit 1
status=0
for module in core uroce; do
	command=$(cd "$repo" && command_of $module)
	[ -n "$command" ] || { echo "kernel/$module is not built (make)"; exit 1; }
	export command
	# shellcheck disable=SC2016 # expanded by that shell
	find "$repo/kernel/$module" "$repo/kernel/include" -name '*.h' -print0 | xargs -0 -n 1 -P "$(nproc)" bash -c 'alone "$1"' alone ||
		status=1
done
exit $status
