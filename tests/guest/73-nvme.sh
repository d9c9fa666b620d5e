# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The kernel's own users of uroce: a disk of this guest is exported by nvmet-rdma and attached by nvme-rdma, over one
# uroce device. The host side registers memory for each transfer (REG_MR); the target reads and writes it by RDMA, and
# invalidates it with its response (SEND_WITH_INV), or else the host does (LOCAL_INV).
#
# needs: uroce
# runs in: networks test-kernel-networks

for module in nvmet-rdma nvme-rdma brd; do
	modinfo -k "$(uname -r)" $module >/dev/null 2>&1 || exit 77
done
UNIV_LINK=uroce setup_device n0 || exit 1
modprobe -a configfs nvme-rdma nvmet-rdma && modprobe brd rd_nr=1 rd_size=65536 || exit 1
mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config || exit 1
nvmet=/sys/kernel/config/nvmet
nqn=nqn.2024-01.org.univerbs:disk
address=$(ip -4 -o addr show dev n0-net | awk '{ sub("/.*", "", $4); print $4 }')

disk=/dev/ram0

make_target() {
	local subsystem=$nvmet/subsystems/$nqn port=$nvmet/ports/1
	mkdir $subsystem && echo 1 >$subsystem/attr_allow_any_host &&
		mkdir $subsystem/namespaces/1 && echo $disk >$subsystem/namespaces/1/device_path &&
		echo 1 >$subsystem/namespaces/1/enable &&
		mkdir $port && echo rdma >$port/addr_trtype && echo ipv4 >$port/addr_adrfam &&
		echo "$address" >$port/addr_traddr && echo 4420 >$port/addr_trsvcid &&
		ln -s $subsystem $port/subsystems/$nqn
}

target_goes() {
	rm "$nvmet/ports/1/subsystems/$nqn" && rmdir "$nvmet/ports/1" &&
		echo 0 >"$nvmet/subsystems/$nqn/namespaces/1/enable" &&
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

# Write through the device and compare on the disk itself, and the other way round, with direct I/O on both.
same_bytes() {
	attached || return
	head -c 8M /dev/urandom >"$UNIV_STATE/disk.in"
	dd if="$UNIV_STATE/disk.in" of="$node" bs="$1" oflag=direct status=none &&
		dd if=$disk bs=1M count=8 iflag=direct status=none | cmp "$UNIV_STATE/disk.in" - || return
	head -c 8M /dev/urandom >"$UNIV_STATE/disk.in"
	dd if="$UNIV_STATE/disk.in" of=$disk bs=1M oflag=direct status=none &&
		dd if="$node" bs="$1" count=8M iflag=direct,count_bytes status=none | cmp "$UNIV_STATE/disk.in" -
}

# A file system makes many requests of different sizes at once.
file_system() {
	attached && mkfs.ext2 -q "$node" && mkdir -p "$UNIV_STATE/mnt" && mount "$node" "$UNIV_STATE/mnt" || return
	cp -r "$UNIV_REPO/Documentation" "$UNIV_REPO/user" "$UNIV_STATE/mnt/" && sync && echo 3 >/proc/sys/vm/drop_caches &&
		diff -r "$UNIV_REPO/Documentation" "$UNIV_STATE/mnt/Documentation" && diff -r "$UNIV_REPO/user" "$UNIV_STATE/mnt/user"
	set -- $?
	umount "$UNIV_STATE/mnt" && return "$1"
}

detach_disk() {
	local file
	for file in /sys/class/nvme/*/subsysnqn; do
		grep -qx "$nqn" "$file" && echo 1 >"${file%/*}/delete_controller"
	done
	! attached
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
run_test "nvme over uroce: the device is removed (adv07)" 120 device_goes
run_test "nvme over uroce: the target is removed" 30 target_goes
run_test "nvme over uroce: modules unload" 60 modprobe -r nvme-rdma nvmet-rdma
modprobe -r brd
ip link del n0-net
rmmod uroce
