#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Each header of the modules compiles alone with W=1, and the library builds with gcc and clang, all without a warning. In a
# copy, so that nothing is found built already and nothing is left. The stage "kernels" compiles the modules themselves with
# W=1, and sparse.sh has sparse read them.

set -u
cd "$(dirname "$0")/../.." || exit 1
repo=$PWD
for tool in clang gcc; do
	command -v $tool >/dev/null || { echo "$tool is missing (make deps)"; exit 77; }
done
kdir=${KDIR:-}
if [ -z "$kdir" ]; then
	# shellcheck source=../vm/kernel.sh
	. tests/vm/kernel.sh
	release=$(pick_release)
	[ -n "$release" ] || { echo "no kernel headers (make deps)"; exit 77; }
	kdir=/lib/modules/$release/build
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/univerbs-warnings.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
bad=0

# quiet NAME LOG STATUS: complains unless it succeeded and said nothing of errors and warnings
quiet() {
	if [ "$3" -eq 0 ] && ! grep -E 'warning:|error:|WARNING|ERROR' "$2"; then
		echo "$1: no warning"
		return
	fi
	echo "$1: exit status $3"
	[ "$3" -eq 0 ] || tail -5 "$2"
	bad=1
}

# headers_alone TREE: one source file for each header of kernel/TREE, that includes nothing else. Each tree is a module of
# its own, since rooms of two trees may have headers of the same name.
headers_alone() {
	local header name tree=$1 alone=$work/kernel/$1-alone
	mkdir -p "$alone"
	{
		echo "obj-m += univ_alone_$tree.o"
		echo 'include $(src)/../include/Kbuild'
		printf 'ccflags-y += -I$(src)/../include -I$(src)/../../uapi $(univ-compat)'
		(cd "$work/kernel" && find "$tree" -type d -printf ' -I$(src)/../%p')
		printf '\nuniv_alone_%s-y := main.o' "$tree"
		while read -r header; do
			name=${header//\//_}
			printf '#include "../%s"\n' "$header" >"$alone/${name%.h}.c"
			printf ' %s.o' "${name%.h}"
		done < <(cd "$work/kernel" && find "$tree" -name '*.h' | sort)
		echo
	} >"$alone/Kbuild"
	printf '#include <linux/module.h>\nMODULE_LICENSE("GPL");\nMODULE_DESCRIPTION("headers");\n' >"$alone/main.c"
	echo "obj-m += kernel/$tree-alone/" >>"$work/Kbuild"
}

find uapi kernel -name '*.h' -exec cp --parents -t "$work" {} +
cp --parents kernel/include/Kbuild "$work"
for tree in core include uroce; do
	headers_alone "$tree"
done
make -k -j"$(nproc)" -C "$kdir" M="$work" W=1 modules >"$work/module.log" 2>&1
quiet "headers of the modules, each alone, W=1" "$work/module.log" $?
for cc in gcc clang; do
	make -C "$repo/user" O="$work/user-$cc" CC=$cc >"$work/user.log" 2>&1
	quiet "library, $cc" "$work/user.log" $?
done
exit $bad
