# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# iSCSI over uroce (iSER): a disk of this guest is exported by ib_isert and attached by ib_iser, over one device. The host side
# posts three requests at once: the former key of a region becomes invalid, the next one valid, and the command that has it is
# sent. It names the next key before the first of them is executed. Then the device is removed below the disk.
#
# needs: uroce
# runs in: kernel-users

for module in ib_iser ib_isert iscsi_target_mod target_core_iblock sd_mod brd; do
	modinfo -k "$(uname -r)" $module >/dev/null 2>&1 || skip "this kernel has no $module"
done
command -v iscsid >/dev/null || skip "open-iscsi is not installed"
# shellcheck source=tests/user/disk.sh
. "$UNIV_REPO/tests/user/disk.sh"
UNIV_LINK=uroce setup_device n0 || exit 1
address=10.77.$(link_number n0).1
modprobe -a configfs target_core_mod target_core_iblock iscsi_target_mod sd_mod ib_isert ib_iser &&
	modprobe brd rd_nr=1 rd_size=65536 || exit 1
mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config || exit 1
target=/sys/kernel/config/target
iqn=iqn.2024-01.org.univerbs:disk
group=$target/iscsi/$iqn/tpgt_1
backstore=$target/core/iblock_0/disk
disk=/dev/ram0

# Any host may attach the disk without a password.
make_target() {
	mkdir -p $backstore && echo "udev_path=$disk" >$backstore/control && echo 1 >$backstore/enable &&
		mkdir -p "$group" && mkdir "$group/lun/lun_0" && ln -s $backstore "$group/lun/lun_0/" &&
		echo 0 >$group/attrib/authentication && echo 1 >$group/attrib/generate_node_acls &&
		echo 0 >$group/attrib/demo_mode_write_protect && mkdir "$group/np/$address:3260" &&
		echo 1 >"$group/np/$address:3260/iser" && echo 1 >"$group/enable"
}

target_goes() {
	echo 0 >"$group/enable"
	rmdir "$group/np/$address:3260" && rm "$group/lun/lun_0/disk" && rmdir "$group/lun/lun_0" "$group" \
		"$target/iscsi/$iqn" $target/iscsi $backstore ${backstore%/*}
}

iscsi() { iscsiadm -m node -T $iqn -p "$address:3260,1" "$@"; }

# The process that logs in; it is told what to do by iscsiadm.
start_host() {
	echo "InitiatorName=iqn.2024-01.org.univerbs:host" >/etc/iscsi/initiatorname.iscsi
	iscsid && iscsi -o new && iscsi -o update -n iface.transport_name -v iser &&
		iscsi -o update -n node.session.timeo.replacement_timeout -v 5
}

attached() {
	local host
	for host in /sys/class/scsi_host/*; do
		[ "$(cat "$host/proc_name" 2>/dev/null)" = iscsi_iser ] || continue
		node=$(echo "$host"/device/session*/target*/*:0/block/sd*)
		node=/dev/${node##*/}
		[ ! -b "$node" ] || return 0
	done
	return 1
}

not_attached() { ! attached; }

attach_disk() { iscsi --login && wait_until 20 attached && rdma resource show qp link n0 | grep 'type RC state RTS'; }

# The host connects again after a request that has failed, and repeats its commands, so nothing else tells.
none_failed() { ! dmesg | grep 'iser: iser_err_comp'; }

detach_disk() { iscsi --logout && wait_until 20 not_attached && wait_until 20 disconnected; }

disconnected() { ! rdma resource show qp link n0 | grep -q 'type RC'; }

# The device is removed below the disk and the target while the disk is written; nothing may hang. The session stays, and
# its host tries to connect.
device_goes() {
	local writer
	attach_disk || return
	dd if=/dev/zero of="$node" bs=96k count=100000 oflag=direct status=none &
	writer=$!
	pause 2
	rdma link del n0 && wait_until 20 test ! -e /sys/class/infiniband/n0 && ! wait $writer && iscsi --logout
}

run_test "iser over uroce: a target" 30 make_target
run_test "iser over uroce: a host" 30 start_host
run_test "iser over uroce: attach" 60 attach_disk
for size in 4k 96k 1M; do
	run_test "iser over uroce: the same bytes, $size at a time" 120 same_bytes $size
done
run_test "iser over uroce: a file system" 180 file_system
run_test "iser over uroce: no request has failed" 10 none_failed
run_test "iser over uroce: detach" 60 detach_disk
run_test "iser over uroce: the device is removed (adv07)" 120 device_goes
run_test "iser over uroce: the target is removed" 30 target_goes
iscsiadm -k 0
run_test "iser over uroce: modules unload" 60 modprobe -r ib_iser ib_isert
modprobe -r brd
ip link del n0-net
rmmod uroce
