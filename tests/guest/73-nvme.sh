# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The kernel's own users of uroce: a disk of this guest is exported by nvmet-rdma and attached by nvme-rdma, over one
# uroce device. The host side registers memory for each transfer (REG_MR); the target reads and writes it by RDMA, and
# invalidates it with its response (SEND_WITH_INV), or else the host does (LOCAL_INV). Then the disk has two paths, over two
# devices, and the port of one goes down while a file system is in use.
#
# needs: uroce
# runs in: networks test-kernel-networks

for module in nvmet-rdma nvme-rdma brd; do
	modinfo -k "$(uname -r)" $module >/dev/null 2>&1 || skip "this kernel has no $module"
done
# shellcheck source=tests/user/disk.sh
. "$UNIV_REPO/tests/user/disk.sh"
UNIV_LINK=uroce setup_device n0 || exit 1
modprobe -a configfs nvme-rdma nvmet-rdma && modprobe brd rd_nr=1 rd_size=65536 || exit 1
mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config || exit 1
nvmet=/sys/kernel/config/nvmet
nqn=nqn.2024-01.org.univerbs:disk
address_of() { ip -4 -o addr show dev "$1-net" | awk '{ sub("/.*", "", $4); print $4 }'; }
address=$(address_of n0)

disk=/dev/ram0

# make_port N ADDRESS: the target is reachable at the address.
make_port() {
	local port=$nvmet/ports/$1
	mkdir "$port" && echo rdma >"$port/addr_trtype" && echo ipv4 >"$port/addr_adrfam" &&
		echo "$2" >"$port/addr_traddr" && echo 4420 >"$port/addr_trsvcid" &&
		ln -s "$nvmet/subsystems/$nqn" "$port/subsystems/$nqn"
}

remove_port() { rm "$nvmet/ports/$1/subsystems/$nqn" && rmdir "$nvmet/ports/$1"; }

make_target() {
	local subsystem=$nvmet/subsystems/$nqn
	mkdir $subsystem && echo 1 >$subsystem/attr_allow_any_host &&
		mkdir $subsystem/namespaces/1 && echo $disk >$subsystem/namespaces/1/device_path &&
		echo 1 >$subsystem/namespaces/1/enable && make_port 1 "$address"
}

target_goes() {
	remove_port 1 && echo 0 >"$nvmet/subsystems/$nqn/namespaces/1/enable" &&
		rmdir "$nvmet/subsystems/$nqn/namespaces/1" "$nvmet/subsystems/$nqn"
}

# Set $node to the attached disk, once there is one.
attached() {
	local file
	for file in /sys/block/nvme*/device/subsysnqn; do
		grep -qsx "$nqn" "$file" || continue
		node=${file#/sys/block/}
		node=/dev/${node%%/*}
		# A path of a multipath disk has no node of its own.
		[ ! -b "$node" ] || return 0
	done
	return 1
}

# attach_disk OPTION...: attaches the disk with options of /dev/nvme-fabrics.
attach_disk() {
	printf 'transport=rdma,traddr=%s,trsvcid=4420,nqn=%s,nr_io_queues=2%s' "$address" "$nqn" "${1:-}" >/dev/nvme-fabrics &&
		wait_until 10 attached
}

detach_disk() {
	local file
	for file in /sys/class/nvme/*/subsysnqn; do
		grep -qx "$nqn" "$file" && echo 1 >"${file%/*}/delete_controller"
	done
	! attached
}

# path_state ADDRESS STATE: true if the controller at the address has the state.
path_state() {
	local dir
	for dir in /sys/class/nvme/*; do
		! grep -qs "traddr=$1," "$dir/address" || { [ "$(cat "$dir/state")" = "$2" ]; return; }
	done
	return 1
}

# Attaches the disk at both addresses. A path whose host or target is silent for some seconds is connected anew.
attach_paths() {
	local options=,keep_alive_tmo=2,reconnect_delay=1,ctrl_loss_tmo=300
	local second
	UNIV_LINK=uroce setup_device n1 && second=$(address_of n1) && make_port 2 "$second" || return
	attach_disk $options && address=$second attach_disk $options && wait_until 60 path_state "$address" live &&
		wait_until 60 path_state "$second" live
}

# write_files: until the file "stop" appears, copies a tree to the disk and compares it. The file "rounds" has a line for each
# round.
write_files() {
	while [ ! -e "$UNIV_STATE/stop" ]; do
		rm -rf "$UNIV_STATE/mnt/user" && cp -r "$UNIV_REPO/user" "$UNIV_STATE/mnt/" && sync "$UNIV_STATE/mnt" &&
			echo 1 >/proc/sys/vm/drop_caches && diff -r "$UNIV_REPO/user" "$UNIV_STATE/mnt/user" || return
		echo >>"$UNIV_STATE/rounds"
	done
}

fault() { "$UNIV_LIBDIR/uroce-fault" set "$@"; }

# rounds_after N: true if the files were written and read more often.
rounds_after() { [ "$(wc -l <"$UNIV_STATE/rounds")" -gt "$1" ]; }

# The port of the first device goes down while a file system on the disk is written and read, and comes back. The file system
# sees no error: the other path takes over, and the first one connects again.
port_flaps() {
	local writer status
	attached && mkfs.ext2 -q "$node" && mkdir -p "$UNIV_STATE/mnt" && mount "$node" "$UNIV_STATE/mnt" || return
	rm -f "$UNIV_STATE/stop"
	: >"$UNIV_STATE/rounds"
	write_files &
	writer=$!
	wait_until 60 rounds_after 0 && fault n0 port_down 1 && wait_until 60 path_state "$address" connecting &&
		wait_until 60 rounds_after "$(wc -l <"$UNIV_STATE/rounds")" && path_state "$address" connecting &&
		fault n0 port_down 0 && wait_until 60 path_state "$address" live
	status=$?
	touch "$UNIV_STATE/stop"
	wait $writer || status=1
	grep -H . /sys/class/nvme/*/{state,address}
	wc -l "$UNIV_STATE/rounds"
	umount "$UNIV_STATE/mnt" && return $status
}

paths_go() {
	detach_disk && remove_port 2 && rdma link del n1 && ip link del n1-net
}

# The device is removed below the disk and the target; neither may hang.
device_goes() {
	attach_disk ",ctrl_loss_tmo=1,reconnect_delay=1" && rdma link del n0 &&
		wait_until 20 test ! -e /sys/class/infiniband/n0 && wait_until 30 not_attached
}

not_attached() { ! attached; }

run_test "nvme over uroce: a target" 30 make_target
run_test "nvme over uroce: attach" 60 attach_disk
for size in 4k 96k 1M; do
	run_test "nvme over uroce: the same bytes, $size at a time" 120 same_bytes $size
done
run_test "nvme over uroce: a file system" 180 file_system
run_test "nvme over uroce: detach" 60 detach_disk
# The test kernel has no multipath.
if [ -e /sys/module/nvme_core/parameters/multipath ]; then
	run_test "nvme over uroce: attach over two devices" 60 attach_paths
	run_test "nvme over uroce: one of two ports goes down under a file system, and comes back" 240 port_flaps
	run_test "nvme over uroce: detach both paths" 60 paths_go
fi
run_test "nvme over uroce: the device is removed (adv07)" 120 device_goes
run_test "nvme over uroce: the target is removed" 30 target_goes
run_test "nvme over uroce: modules unload" 60 modprobe -r nvme-rdma nvmet-rdma
modprobe -r brd
ip link del n0-net
rmmod uroce
