# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Posting without system calls: the poller, and tests of other scripts run with a poller.
#
# needs: device
# runs in: guest-uroce test-kernel-rxe coverage-core coverage-core-uroce kernels-arm64 rt-kernel
# runs in: test-kernel-memory-uroce

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

need_univerbs || exit 1
echo 2 >/sys/module/univerbs/parameters/max_pollers
resources_mark

pollers() { grep -qs '^univ-poll' /proc/[0-9]*/comm; }
no_pollers() { ! pollers; }

# a_poller_shows: true if the check of the last test can see a poller while there is one.
a_poller_shows() {
	local holder status
	mkfifo "$UNIV_STATE/poller.in"
	UNIVERBS_POLL=1 program hold <"$UNIV_STATE/poller.in" >/dev/null 2>&1 &
	holder=$!
	exec {input}>"$UNIV_STATE/poller.in"
	wait_until 15 pollers
	status=$?
	exec {input}>&-
	wait $holder
	return $status
}


# polled COMMAND...: gives each context a poller that falls asleep all the time.
polled() { UNIVERBS_POLL=50 "$@"; }

run_test "poller" 120 program poller
run_test "a poller is a kernel thread" 40 a_poller_shows
for name in tutorial api_qp api_qp_ex api_rc api_ud api_srq qp_resize threads; do
	run_test "$name, with a poller" 120 polled program "$name"
done
run_test "killed, with a poller" 150 polled program killed

run_test "no poller is left behind" 20 wait_until 10 no_pollers
run_test "nothing is left behind" 20 resources_unchanged
echo 0 >/sys/module/univerbs/parameters/max_pollers
