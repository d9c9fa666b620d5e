#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# tests/check-all --within chooses the parts that fit, and their order: a part that the change touches, the part of the day, and
# then the others. It runs here in a repository of its own, with parts of 10 to 40 minutes, and on a day of the test's choice.

set -u
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0

mkdir -p "$work/tests/parts.d" "$work/bin" "$work/near"
cp tests/check-all "$work/tests/"
printf '#!/bin/sh\nshift\necho "$@"\n' >"$work/tests/check"
# shellcheck disable=SC2016
printf '#!/bin/sh\necho $((DAY * 86400))\n' >"$work/bin/date"
# part NAME MINUTES FOLDER
part() { printf '#!/bin/sh\n#\n#\n# A part.\n# Minutes: %s\n# Touches: %s\n' "$2" "$3" >"$work/tests/parts.d/$1"; }
part 10-near 10 near
part 20-far 10 far
part 30-long 40 near
part 40-other 10 other
chmod +x "$work"/tests/parts.d/* "$work/tests/check" "$work/bin/date"
git() { command git -C "$work" -c user.name=test -c user.email=test@localhost "$@"; }
git init -q && git add . && git commit -qm "the base" && touch "$work/near/file" && git add . && git commit -qm "a change" || exit 1

# expect DAY MINUTES PART...: what runs, in this order
expect() {
	local day=$1 minutes=$2 got
	shift 2
	got=$(cd "$work" && PATH=$work/bin:$PATH DAY=$day CI_BASE='' tests/check-all --within "$minutes" | tail -n 1)
	[ "$got" = "$*" ] && return
	echo "on day $day, within $minutes minutes: \"$got\", expected \"$*\""
	failed=1
}

# The part of the day is the first one, and is touched
expect 0 100 near long far other
# It is not touched, so one that is touched runs before it
expect 1 100 long far near other
expect 3 100 near other long far
# The touched part that fits beside it
expect 1 20 near far
expect 3 25 near other
# Nothing fits beside it
expect 1 10 far
# The part of the day is too long, so the next one takes its place
expect 2 30 near other far
expect 0 5 "check-all: no part fits into 5 minutes"
echo "8 choices"
exit $failed
