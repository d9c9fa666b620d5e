#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The commands of README.md can be run: univerbs-vm is called as in Documentation/recipes.rst, whose commands
# tests/tools/recipes.sh runs; make has the targets, packaging/ lists the packages, and the programs know the options.
# The code in Documentation/primer.rst is that of tutorial.c.

set -u
cd "$(dirname "$0")/../.." || exit 1
failed=0
checked=0

missing() { echo "README.md: $*"; failed=1; }

# commands: the lines of its blocks; a line that ends in a backslash goes on
commands() { sed -n 's/^    //p' README.md | sed -e ':a' -e '/\\$/{N;s/\\\n */ /;ba' -e '}'; }

recipes=$(sed -e ':a' -e '/\\$/{N;s/\\\n */ /;ba' -e '}' Documentation/recipes.rst)

check_command() {
	local word
	case $1 in
	build/user/univerbs-vm*) grep -qF -- "    $1" <<<"$recipes" || missing "no recipe has: $1" ;;
	make*) for word in ${1#make}; do grep -qE "^$word:" Makefile || missing "there is no target $word"; done ;;
	*apt\ install\ ./*) ;;
	*apt\ install*)
		for word in ${1#*apt install}; do
			# build-essential depends on make, and busybox-static replaces busybox.
			[ "$word" = make ] || grep -qxE "$word(-static)?" packaging/debian-packages*.txt ||
				missing "packaging/ does not list $word"
		done ;;
	*univerbs-run\ --*) user/tools/univerbs-run --help | grep -q -- "$(grep -o -- '--[a-z]*' <<<"$1")" ||
		missing "univerbs-run does not know: $1" ;;
	*modprobe*|*rdma\ link\ add*|*univerbs-run*) ;;
	*) missing "nothing here knows how to check: $1" ;;
	esac
	checked=$((checked + 1))
}

# The primer's blocks of code, each of which the program has to contain; white space does not matter
check_primer() {
	command -v python3 >/dev/null || return 0
	python3 - Documentation/primer.rst tests/user/use/tutorial.c <<-'PYTHON'
	import re, sys
	program = " ".join(open(sys.argv[2]).read().split())
	blocks = re.findall(r"\.\. code-block:: c\n\n((?: {4}.*\n|\n)+)", open(sys.argv[1]).read())
	bad = [b for b in blocks if " ".join(b.split()) not in program]
	for block in bad:
	    print("Documentation/primer.rst: tutorial.c does not have:", block, sep="\n")
	sys.exit(bool(bad) or len(blocks) < 10)
	PYTHON
}

check_primer || failed=1
while read -r line; do
	check_command "$line"
done < <(commands)
echo "$checked commands checked"
[ $checked -ge 8 ] || missing "has only $checked commands"
exit $failed
