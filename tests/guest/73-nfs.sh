# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# NFS over uroce: the kernel's server exports a folder of this guest, and its client mounts it, over one device. The client
# registers the memory of large calls (REG_MR), and the server reads and writes it by RDMA. Small calls are messages. From NFS
# 4.1 on, the server calls the client over the same connection. Then the device is removed and made anew while files are
# written, and removed for good.
#
# needs: uroce
# runs in: kernel-users

for module in nfsd nfsv4 rpcrdma; do
	modinfo -k "$(uname -r)" $module >/dev/null 2>&1 || skip "this kernel has no $module"
done
UNIV_LINK=uroce setup_device n0 || exit 1
modprobe -a nfsd nfsv4 rpcrdma || exit 1
mountpoint -q /proc/fs/nfsd || mount -t nfsd nfsd /proc/fs/nfsd || exit 1
nfsd=/proc/fs/nfsd
address=10.77.$(link_number n0).1
folder=$UNIV_STATE/export mnt=$UNIV_STATE/mnt
mkdir -p "$folder" "$mnt" || exit 1

# tell CACHE WORD...: an answer to a question that the server has not asked yet. The answers are the work of rpc.mountd, which
# this machine need not have.
tell() { echo "${@:2}" >"/proc/net/rpc/$1/channel"; }

# The folder is the root of NFS 4 (number 0) for the client at the address. 0x2402: any port of the client, a number of its own
# (0x2000), no check of the folders above (0x400). NFS 3 would need more programs. 10 seconds is the shortest time for clients
# of a server before this one.
serve() {
	local forever=2147483647
	tell auth.unix.ip nfsd "$address" $forever here &&
		tell nfsd.export here "$folder" $forever $((0x2402)) 65534 65534 0 &&
		tell nfsd.fh here 1 '\x00000000' $forever "$folder" &&
		echo 10 >$nfsd/nfsv4leasetime && echo 10 >$nfsd/nfsv4gracetime && echo -3 >$nfsd/versions &&
		echo rdma 20049 >$nfsd/portlist && echo 4 >$nfsd/threads && cat $nfsd/portlist
}

# attach VERSION [OPTION]: -i, since mount(8) would look for mount.nfs otherwise
attach() {
	mount -i -t nfs4 -o "vers=$1,proto=rdma,port=20049,addr=$address,clientaddr=$address,sec=sys${2:+,$2}" "$address:/" "$mnt" &&
		grep " $mnt nfs4 .*,proto=rdma," /proc/mounts
}

# same_bytes SIZE [OPTION]: writes over NFS and compares in the folder itself, and the other way round. The last byte has a
# request of its own. The files have new names, since the client remembers which names there are.
same_bytes() {
	local in=$UNIV_STATE/in size=$(((4 << 20) + 1)) n=$EPOCHREALTIME
	head -c $size /dev/urandom >"$in" && dd if="$in" of="$mnt/$n-in" bs="$1" ${2:+"oflag=$2"} status=none &&
		sync "$mnt/$n-in" && cmp "$in" "$folder/$n-in" || return
	head -c $size /dev/urandom >"$in" && cp "$in" "$folder/$n-out" &&
		dd if="$mnt/$n-out" bs="$1" ${2:+"iflag=$2"} status=none | cmp "$in" - && rm "$mnt/$n-in" "$mnt/$n-out"
}

# A tree has files of many sizes, long lists of names, and links.
tree() {
	cp -r "$UNIV_REPO/Documentation" "$UNIV_REPO/user" "$mnt/" && ln -s "$(printf '%0.sx/' {1..900})" "$mnt/link" &&
		sync "$mnt" && echo 3 >/proc/sys/vm/drop_caches || return
	diff -r "$UNIV_REPO/Documentation" "$mnt/Documentation" && diff -r "$UNIV_REPO/user" "$mnt/user" &&
		diff --no-dereference -r "$folder" "$mnt" && rm -r "${mnt:?}"/*
}

# Memory was registered for writes and reads of the server: the kernel's xprt_rdma_print_stats() prints the number of chunks to
# read and to write as words 13 and 14.
chunks() {
	awk -v mnt="$mnt" '$5 == mnt { here = 1 }
		here && /xprt:/ { print; exit !($2 == "rdma" && $13 > 0 && $14 > 0) }' /proc/self/mountstats
}

detach() { umount "$mnt" && wait_until 20 only_listens; }

only_listens() { [ -z "$(queue_pairs)" ]; }

queue_pairs() { rdma resource show qp link n0 | grep 'type RC'; }

# write_files: until the file "stop" appears, copies a tree and compares it. The file "rounds" has a line for each round.
write_files() {
	while [ ! -e "$UNIV_STATE/stop" ]; do
		rm -rf "$mnt/user" && cp -r "$UNIV_REPO/user" "$mnt/" && sync "$mnt" && echo 1 >/proc/sys/vm/drop_caches &&
			diff -r "$UNIV_REPO/user" "$mnt/user" || return
		echo >>"$UNIV_STATE/rounds"
	done
}

rounds_after() { [ "$(wc -l <"$UNIV_STATE/rounds")" -gt "$1" ]; }

server_goes() { echo 0 >$nfsd/threads; }

# The device is removed under a file system and made anew. The client connects again, and no program sees an error.
device_changes() {
	local writer status
	attach 4.2 || return
	rm -f "$UNIV_STATE/stop"
	: >"$UNIV_STATE/rounds"
	write_files &
	writer=$!
	wait_until 60 rounds_after 0 && rdma link del n0 && wait_until 20 test ! -e /sys/class/infiniband/n0 &&
		pause 1 && UNIV_LINK=uroce setup_device n0 && wait_until 90 rounds_after "$(($(wc -l <"$UNIV_STATE/rounds") + 1))"
	status=$?
	touch "$UNIV_STATE/stop"
	wait $writer || status=1
	wc -l "$UNIV_STATE/rounds"
	return $status
}

written() { [ "$(stat -c %s "$folder/zeros" 2>/dev/null || echo 0)" -gt 1000000 ]; }

# The device is removed for good while a file is written, and the writer gets an error. Neither side may hang.
device_goes() {
	local writer
	umount "$mnt" && attach 4.2 soft,timeo=20,retrans=1 || return
	dd if=/dev/zero of="$mnt/zeros" bs=96k count=100000 oflag=direct &
	writer=$!
	wait_until 60 written && rdma link del n0 && wait_until 20 test ! -e /sys/class/infiniband/n0 || return
	! wait $writer && umount -f "$mnt"
}

# The connection of the last mount ends in the background.
unload() { wait_until 40 modprobe -qr rpcrdma && modprobe -r nfsd nfsv4; }

run_test "nfs over uroce: a server" 60 serve
for version in 4.0 4.1 4.2; do
	run_test "nfs $version over uroce: mount" 60 attach $version || break
	run_test "nfs $version over uroce: the same bytes, 1000 at a time" 120 same_bytes 1000
	run_test "nfs $version over uroce: the same bytes, 96k at a time" 120 same_bytes 96k direct
	run_test "nfs $version over uroce: the same bytes, 4M at a time" 120 same_bytes 4M direct
	run_test "nfs $version over uroce: a tree" 180 tree
	run_test "nfs $version over uroce: memory was registered" 10 chunks
	run_test "nfs $version over uroce: unmount" 60 detach
done
run_test "nfs over uroce: the device is made anew under a file system (adv07)" 180 device_changes
run_test "nfs over uroce: the device is removed (adv07)" 180 device_goes
run_test "nfs over uroce: the server goes" 60 server_goes
umount $nfsd
run_test "nfs over uroce: modules unload" 60 unload
ip link del n0-net
rmmod uroce
