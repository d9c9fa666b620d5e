#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The module builds with W=1 and sparse, each of its headers alone too, and the library with gcc and clang, all without a
# warning. In a copy, so that nothing is found built already and nothing is left.

set -u
cd "$(dirname "$0")/../.." || exit 1
repo=$PWD
for tool in sparse clang gcc; do
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

# One source file for each header, that includes nothing else
headers_alone() {
	local header name
	mkdir -p "$work/kernel/alone"
	{
		echo 'obj-m += alone.o'
		echo 'include $(src)/../../kernel/include/Kbuild'
		echo 'ccflags-y += -I$(src)/../core -I$(src)/../include -I$(src)/../uroce -I$(src)/../../uapi $(univ-compat)'
		printf 'alone-y := main.o'
		for header in "$work"/kernel/{core,include,uroce}/*.h; do
			name=${header##*/}
			printf '#include "%s"\n' "$name" >"$work/kernel/alone/${name%.h}_alone.c"
			printf ' %s_alone.o' "${name%.h}"
		done
		echo
	} >"$work/kernel/alone/Kbuild"
	printf '#include <linux/module.h>\nMODULE_LICENSE("GPL");\nMODULE_DESCRIPTION("headers");\n' \
		>"$work/kernel/alone/main.c"
	echo 'obj-m += kernel/alone/' >>"$work/Kbuild"
}

mkdir "$work/kernel"
cp Kbuild "$work/"
cp -r uapi samples "$work/"
find "$work/samples" -type f ! -name '*.[ch]' ! -name Kbuild -delete
find "$work/samples" -name '*.mod.c' -delete
for dir in kernel/*/; do
	mkdir "$work/$dir"
	cp "$dir"*.[ch] "$dir"Kbuild "$work/$dir" 2>/dev/null
done
headers_alone
make -k -j"$(nproc)" -C "$kdir" M="$work" W=1 C=2 modules >"$work/module.log" 2>&1
quiet "module, W=1 and sparse, and its headers alone" "$work/module.log" $?
for cc in gcc clang; do
	make -C "$repo/user" O="$work/user-$cc" CC=$cc >"$work/user.log" 2>&1
	quiet "library, $cc" "$work/user.log" $?
done
exit $bad
