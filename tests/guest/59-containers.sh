# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Documentation/containers.rst with unshare alone: an ordinary user, in a user namespace and a mount namespace of its
# own, sees one node and the library, which are passed in, and sends messages. This runs in the host's network
# namespace, and in a namespace that has a device of its own, like a pod.
#
# needs: uroce

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

use_link uroce && need_univerbs || exit 1

# In the container, /dev/infiniband has only the node, and the library is in a folder of its own.
# shellcheck disable=SC2016 # expanded in the container
# shellcheck disable=SC2089,SC2090
container_init='
	node=$1 library=$2
	shift 2
	mkdir /tmp/held && touch /tmp/held/node /tmp/held/lib.so.1 &&
	mount --bind "$node" /tmp/held/node && mount --bind "$library" /tmp/held/lib.so.1 &&
	mount -t tmpfs none /dev/infiniband && touch "$node" && mount --bind /tmp/held/node "$node" &&
	mkdir /tmp/univerbs && touch /tmp/univerbs/libibverbs.so.1 &&
	mount --bind /tmp/held/lib.so.1 /tmp/univerbs/libibverbs.so.1 &&
	[ "$(ls /dev/infiniband)" = "${node##*/}" ] || exit 99
	LD_LIBRARY_PATH=/tmp/univerbs exec "$@"'

node_of() { echo "/dev/infiniband/$(basename "$(grep -lx "$1" /sys/class/univerbs/*/ibdev | xargs dirname)")"; }

# contained NODE COMMAND...: runs COMMAND as user nobody, in namespaces that this user may not create outside.
contained() {
	local node=$1
	shift
	prlimit --memlock=67108864 setpriv --reuid nobody --regid nogroup --clear-groups --no-new-privs --bounding-set=-all \
		unshare --user --map-root-user --mount --pid --fork --ipc --uts --mount-proc \
		sh -c "mount -t tmpfs none /tmp && $container_init" sh "$node" "$UNIV_LIBDIR/libibverbs.so.1" "$@"
}

# talk DEVICE ADDRESS [COMMAND]...: runs two containers, each started by COMMAND. They do not have a network namespace of
# their own, so COMMAND sees when the server listens.
talk() {
	local device=$1 address=$2 node server
	shift 2
	node=$(node_of "$device")
	chmod a+rw "$node"
	"$@" contained "$node" ibv_rc_pingpong -d "$device" -g 1 &
	server=$!
	WAIT_STEP=0.5 wait_until 40 "$@" tcp_listens 18515 || { kill $server; return 1; }
	"$@" contained "$node" ibv_rc_pingpong -d "$device" -g 1 "$address" && wait $server
}

# The list has no device of which the container has no node, as with the stock library. Here the container has another file.
not_handed_in() {
	local said other=/dev/infiniband/other status
	touch $other && said=$(UNIVERBS_EXPLAIN=1 contained $other ibv_devices 2>&1)
	status=$?
	rm $other
	echo "$said"
	[ $status -eq 0 ] && ! grep -w rxe0 <<<"$said" && grep -qF "there is no $(node_of rxe0)" <<<"$said"
}

# in_pod COMMAND...: runs COMMAND, which may be a function, in a network namespace.
in_pod() {
	# shellcheck disable=SC2016
	nsenter --net=/run/netns/pod bash -c '. "$UNIV_REPO/tests/vm/lib.sh"; eval "$1"; shift; "$@"' bash \
		"$(declare -f contained); $(declare -p container_init)" "$@"
}

# The namespace has a device of its own: the runtime has moved a network card into it, and root has created a device
# over the card there.
pod() {
	ip netns add pod && ip link add pod0 mtu 4200 type veth peer name pod1 mtu 4200 &&
		ip link set pod0 netns pod && ip link set pod1 netns pod &&
		ip -n pod link set lo up && ip -n pod addr add 10.99.0.1/24 dev pod0 &&
		ip -n pod link set pod1 up && ip -n pod link set pod0 up &&
		ip netns exec pod rdma link add pod-rdma type uroce netdev pod0 || return
	talk pod-rdma 10.99.0.1 in_pod
}

run_test "containers: an ordinary user in namespaces of its own" 90 talk rxe0 10.77.0.1
run_test "containers: a container sees no device of which it has no node" 60 not_handed_in
run_test "containers: a network namespace that has a device of its own" 90 pod
# Later scripts expect their own kind of device.
remove_device rxe0
ip netns del pod
