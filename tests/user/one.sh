# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# In a guest: the program that ONE names, with the cases that it names. A program with a peer on a network gets two uroce
# devices in two namespaces.

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"
# shellcheck source=tests/user/network.sh
. "$UNIV_REPO/tests/user/network.sh"

# shellcheck disable=SC2086 # a name and cases
set -- $ONE
if grep -Eq '^#include "(endpoint|packets|side)\.h"' "$UNIV_REPO/tests/user/"*"/$1.c"; then
	need_far_and_near || exit 1
else
	need_univerbs || exit 1
fi
user_test "$1" 600 "${@:2}"
