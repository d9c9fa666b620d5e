# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For scripts that run in a guest and move a uroce device to another network namespace. tests/user/guest.sh comes first.

# moved NAMESPACE NAME: true if the device is there, over the net device of that namespace.
moved() { ip netns exec "$1" rdma link show "$2/1" 2>/dev/null | grep -q "netdev $2-net"; }

# talks_in NAMESPACE NAME: two programs of that namespace exchange messages over the device, whose GID 1 is 10.94.0.1.
talks_in() {
	local server status
	univ timeout $((40 * ${UNIV_SLOW:-1})) ip netns exec "$1" ibv_rc_pingpong -d "$2" -g 1 -n 50 -c \
		>"$UNIV_STATE/server.out" 2>&1 &
	server=$!
	wait_until 20 eval "[ -n \"\$(ip netns exec $1 ss -Hltn 'sport = :18515')\" ]"
	univ timeout $((40 * ${UNIV_SLOW:-1})) ip netns exec "$1" ibv_rc_pingpong -d "$2" -g 1 -n 50 -c 10.94.0.1
	status=$?
	wait $server && return $status
}
