# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# SCSI over uroce (SRP): a disk of this guest is exported by ib_srpt and attached by ib_srp, over one device. The host side
# registers memory (REG_MR) and connects several queue pairs; the target reads and writes by RDMA. It receives with a queue for
# each queue pair, or with one shared queue for all. Then the device is removed below the disk.
#
# needs: uroce
# runs in: kernel-users

for module in ib_srp ib_srpt target_core_iblock sd_mod brd; do
	modinfo -k "$(uname -r)" $module >/dev/null 2>&1 || skip "this kernel has no $module"
done
# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"
# shellcheck source=tests/user/disk.sh
. "$UNIV_REPO/tests/user/disk.sh"
UNIV_LINK=uroce setup_device n0 || exit 1
address=10.77.$(link_number n0).1
# ib_srpt connects a name of the target with a device when it is loaded, or when the device comes.
modprobe -a configfs target_core_mod target_core_iblock sd_mod ib_srpt ib_srp &&
	modprobe brd rd_nr=1 rd_size=65536 || exit 1
mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config || exit 1
target=/sys/kernel/config/target
guid=$(cat /sys/class/infiniband/n0/node_guid)
group=$target/srpt/$guid/$guid
backstore=$target/core/iblock_0/disk
port=5555
disk=/dev/ram0

# The target's name is the GUID of the device, and so is the name of its only group. The host's name is its address.
make_target() {
	mkdir -p $backstore && echo "udev_path=$disk" >$backstore/control && echo 1 >$backstore/enable &&
		mkdir -p "$group" && mkdir "$group/lun/lun_0" && ln -s $backstore "$group/lun/lun_0/" &&
		mkdir "$group/acls/$address" && mkdir "$group/acls/$address/lun_0" &&
		ln -s "$group/lun/lun_0" "$group/acls/$address/lun_0/" && echo $port >$target/srpt/discovery_auth/rdma_cm_port &&
		echo 1 >"$group/enable"
}

target_goes() {
	# The group has gone with its device, if that was removed.
	[ ! -e "$group/enable" ] || echo 0 >"$group/enable" 2>/dev/null
	echo 0 >$target/srpt/discovery_auth/rdma_cm_port
	rm "$group/acls/$address/lun_0/lun_0" && rmdir "$group/acls/$address/lun_0" "$group/acls/$address" &&
		rm "$group/lun/lun_0/disk" && rmdir "$group/lun/lun_0" "$group" "$target/srpt/$guid" $target/srpt \
		$backstore ${backstore%/*}
}

# Set $node to the attached disk, once there is one.
attached() {
	local host
	for host in /sys/class/scsi_host/*; do
		[ "$(cat "$host/proc_name" 2>/dev/null)" = ib_srp ] || continue
		node=$(echo "$host"/device/target*/*:0/block/sd*)
		node=/dev/${node##*/}
		[ ! -b "$node" ] || return 0
	done
	return 1
}

not_attached() { ! attached; }

# attach_disk SRQ: 1: the target has one receive queue for all queue pairs
attach_disk() {
	local id=${guid//:/}
	echo "$1" >"$group/attrib/use_srq" &&
		echo "id_ext=$id,ioc_guid=$id,dest=$address:$port" >/sys/class/infiniband_srp/srp-n0-1/add_target &&
		wait_until 20 attached && rdma resource show qp link n0
}

detach_disk() {
	local rport
	for rport in /sys/class/srp_remote_ports/*; do
		echo 1 >"$rport/delete" || return
	done
	wait_until 20 not_attached && wait_until 20 disconnected && forgive_srpt
}

disconnected() { ! rdma resource show qp link n0 | grep -q 'type RC'; }

# ib_srpt of 6.1 warns, once, when a queue pair with a shared receive queue goes: it puts back a cache of its own that such a
# queue pair does not have. That is the same over any device.
forgive_srpt() { forgive 'WARNING: .*ib_srpt\.c:[0-9]* srpt_cache_put' ib_srpt; }

# The device is removed below the disk and the target while the disk is written; nothing may hang.
device_goes() {
	local writer
	attach_disk 1 || return
	dd if=/dev/zero of="$node" bs=96k count=100000 oflag=direct status=none &
	writer=$!
	pause 2
	rdma link del n0 && wait_until 20 test ! -e /sys/class/infiniband/n0 && wait_until 60 not_attached && ! wait $writer &&
		forgive_srpt
}

run_test "srp over uroce: a target" 30 make_target
for srq in 0 1; do
	run_test "srp over uroce: attach, shared receive queue $srq" 60 attach_disk $srq
	for size in 4k 96k 1M; do
		run_test "srp over uroce: the same bytes, $size at a time" 120 same_bytes $size
	done
	run_test "srp over uroce: a file system" 180 file_system
	run_test "srp over uroce: detach" 60 detach_disk
done
run_test "srp over uroce: the device is removed (adv07)" 120 device_goes
run_test "srp over uroce: the target is removed" 30 target_goes
run_test "srp over uroce: modules unload" 60 modprobe -r ib_srp ib_srpt
modprobe -r brd
ip link del n0-net
rmmod uroce
