#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Each command in the blocks of README.md and of Documentation/recipes.rst is one that bench/newcomer or
# tests/tools/recipes.sh runs. The packages that README.md installs are in the lists of packaging/, and the targets of make
# exist. The code in Documentation/primer.rst is that of tutorial.c.

set -u
cd "$(dirname "$0")/../.." || exit 1
failed=0
checked=0

missing() { echo "$*"; failed=1; }

# joined: prints its input with each continued line as one line
joined() { sed -e ':a' -e '/\\$/{N;s/\\\n *//;ba' -e '}'; }

# commands FILE: prints the lines of the blocks of commands, and of the steps of a CI job
commands() {
	case $1 in
	*.md) sed -n 's/^    //p' "$1" ;;
	*) awk '
		/^\.\. code-block:: yaml$/ { yaml = wait = 1; next }
		/::$/ && !/^\.\./ { yaml = 0; wait = 1; next }
		/^\.\. / { wait = inside = 0; next }
		wait && /^    / { wait = 0; inside = 1 }
		inside && /^[^ ]/ { inside = 0 }
		inside && /^    / && !yaml { print substr($0, 5) }
		inside && yaml && sub(/^ *- run: /, "") { print }' "$1" ;;
	esac | joined
}

# run_by_tests: prints the commands that tests run
run_by_tests() {
	local way
	for way in laptop packages dkms faults ci; do
		bench/newcomer --commands "$way"
	done
	tests/tools/recipes.sh --list
}

# check_packages COMMAND: build-essential depends on make, and busybox-static replaces busybox. linux-headers-amd64 depends on
# the headers of a release.
check_packages() {
	local word words=${1#*apt install}
	# shellcheck disable=SC2016 # README.md has these characters
	for word in ${words//'$(uname -r)'/amd64}; do
		[[ $word = make || $word = */* ]] || grep -qxE "$word(-static)?" packaging/debian-packages*.txt ||
			missing "README.md: packaging/ does not list $word"
	done
}

check_command() {
	local word
	checked=$((checked + 1))
	grep -qF -- "$2" <<<"$run" || missing "$1: no test runs: $2"
	[ "$1" = README.md ] || return 0
	case $2 in
	make*) for word in ${2#make}; do [[ $word = -* ]] || grep -qE "^$word:" Makefile || missing "$1: there is no target $word"; done ;;
	sudo\ apt\ install*) check_packages "$2" ;;
	esac
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
run=$(run_by_tests | joined)
for file in README.md Documentation/recipes.rst; do
	while IFS= read -r line; do
		[ -z "$line" ] || check_command "$file" "$line"
	done < <(commands $file)
done
echo "$checked commands checked"
[ $checked -ge 25 ] || missing "only $checked commands were found"
exit $failed
