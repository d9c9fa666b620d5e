# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154 # node and disk are of the script
#
# For scripts in which the kernel exports the block device $disk and attaches it over RDMA. The script defines attached(), which
# sets $node to the attached disk, once there is one.

# same_bytes SIZE: writes through the attached disk and compares on the exported one, and the other way round. Direct I/O
# transfers SIZE bytes at a time.
same_bytes() {
	attached || return
	head -c 8M /dev/urandom >"$UNIV_STATE/disk.in"
	dd if="$UNIV_STATE/disk.in" of="$node" bs="$1" oflag=direct status=none &&
		dd if="$disk" bs=1M count=8 iflag=direct status=none | cmp "$UNIV_STATE/disk.in" - || return
	head -c 8M /dev/urandom >"$UNIV_STATE/disk.in"
	dd if="$UNIV_STATE/disk.in" of="$disk" bs=1M oflag=direct status=none &&
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
