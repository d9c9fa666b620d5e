# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Third-party programs, a few of each kind, over uroce and over rxe, for kernels on which all of tests/programs takes
# too long; tests/kernel/matrix runs all of them.

# shellcheck source=tests/programs/lib.sh
. "$UNIV_REPO/tests/programs/lib.sh"

ONLY='^(ibv_devinfo -v|ibv_(rc|uc|srq|ud)_pingpong -s 1 -n 1000 -c -e|carry .*|ib_(send|write|read)_bw -c RC -s [0-9]* -n [0-9]*'
ONLY+='|ib_atomic_bw -A CMP_AND_SWAP -n 1000 -e|ib_send_lat -c (UC|UD) -s 2 -n 1000 -e|rping -q|ucmatose -c 8|udaddy -c 4'
ONLY+='|mckey|rstream)$'

for kind in ${LINKS_UNDER_TEST:-uroce rxe}; do
	use_link "$kind" || exit
	LINKS=", $UNIV_LINK"
	setup_device "$DEVICE" || exit
	setup_stack || exit
	run_programs
done
