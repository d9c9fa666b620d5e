# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# In a guest: the program that ONE names, with the cases that it names.

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

need_univerbs || exit 1
# shellcheck disable=SC2086 # a name and cases
set -- $ONE
user_test "$1" 600 "${@:2}"
