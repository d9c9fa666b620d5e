# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Host side: chooses the kernel that a guest boots and the contents of its initramfs, and checks whether KVM works here.

# usable_releases: prints the releases that have headers to build modules against and an image to boot, the newest last.
# A PREEMPT_RT kernel is only usable if it is running, since it has tests of its own.
usable_releases() {
	local image release
	for image in /boot/vmlinuz-*; do
		release=${image#/boot/vmlinuz-}
		[[ $release != *-rt-* || $release = "$(uname -r)" ]] || continue
		[ -r "$image" ] && [ -e "/lib/modules/$release/build" ] && echo "$release"
	done | sort -V
}

# rt_headers RELEASE: prints the folder in which Debian has the headers of that kernel.
rt_headers() { echo "/usr/src/linux-headers-$1"; }

# rt_release: prints the newest PREEMPT_RT kernel that can be built for and booted, if there is one.
rt_release() {
	local image release
	for image in /boot/vmlinuz-*-rt-*; do
		release=${image#/boot/vmlinuz-}
		[ -r "$image" ] && [ -e "$(rt_headers "$release")/Makefile" ] && echo "$release"
	done | sort -V | tail -n 1
}

# pick_release: prints the running kernel's release if it is usable, else the newest usable one, else one that has
# headers.
pick_release() {
	local releases running build
	running=$(uname -r)
	releases=$(usable_releases)
	if [ -z "$releases" ]; then
		releases=$(for build in /lib/modules/*/build; do
			[ ! -e "$build" ] || basename "${build%/build}"
		done | sort -V)
	fi
	if printf '%s\n' "$releases" | grep -qxF "$running"; then
		echo "$running"
	else
		printf '%s\n' "$releases" | tail -n 1
	fi
}

# shares_by RELEASE MODDIR: prints the file system through which a guest sees folders of the host: 9p, or virtiofs if
# the kernel has no 9p, like Debian's cloud kernel.
shares_by() {
	if modprobe -d "$2" -S "$1" --show-depends 9pnet_virtio >/dev/null 2>&1; then
		echo 9p
	else
		echo virtiofs
	fi
}

# Modules that a guest needs before it can mount its root, in loading order; built-in modules are left out.
boot_modules() {
	local release=$1 moddir=$2 name
	for name in virtio_pci 9pnet_virtio 9p virtiofs overlay; do
		modprobe -d "$moddir" -S "$release" --show-depends "$name" 2>/dev/null
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

# near_files LIBDIR OUTPUT ROOT: archives the programs that tests start often, with their libraries. Opening a file of
# the host takes a guest ten milliseconds, so the guest copies these files to its memory first. For another root, the
# programs cannot be run here to list their libraries, so all libraries are included.
near_files() {
	local names=(bash sh awk basename cat cp cut date dirname dmesg env find grep head ip kill ln ls mkdir mkfifo mktemp
		mv nsenter od ps rdma readlink rm rmdir sed seq setpriv sleep sort stat stdbuf tail tc tee timeout touch tr true
		uname uniq unshare wc xargs modprobe insmod rmmod
		ibv_devices ibv_devinfo ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong ibv_srq_pingpong rping ucmatose udaddy
		mckey ib_{send,write,read,atomic}_{lat,bw})
	if [ -n "$3" ]; then
		{
			(PATH=$3/bin:$3/usr/bin:$3/sbin:$3/usr/sbin && type -P "${names[@]}")
			find "$3/lib" "$3"/usr/lib/*-linux-gnu -maxdepth 2 -type f -name '*.so*'
		} | sed "s|^$3||" | sort -u >"$2"
		return
	fi
	{
		type -P "${names[@]}"
		find /usr/lib/*/libibverbs /usr/libexec/coreutils "$1" \
			-name 'librxe*.so' -o -name 'libsiw*.so' -o -name libstdbuf.so -o -name libibverbs.so.1
	} 2>/dev/null | xargs readlink -f | sort -u >"$2"
	xargs ldd <"$2" 2>/dev/null | awk '/ \(0x/ { print $(NF - 1) }' | grep / | xargs readlink -f | sort -u >"$2.libs"
	cat "$2.libs" >>"$2"
	rm -f "$2.libs"
}

# put_busybox BUSYBOX DIR: copies the program to DIR/bin, with the libraries that it loads: Debian's package busybox is
# linked dynamically, busybox-static is not.
put_busybox() {
	local library
	mkdir -p "$2/bin" && cp "$1" "$2/bin/busybox" || return
	for library in $(ldd "$1" 2>/dev/null | grep -oE '/[^ ]+'); do
		mkdir -p "$2${library%/*}" && cp -L "$library" "$2$library" || return
	done
}

# build_initramfs RELEASE MODDIR OUTPUT HERE LIBDIR ROOT
build_initramfs() {
	local release=$1 moddir=$2 out=$3 here=$4 libdir=$5 root=$6 dir=$3.d module busybox n=10
	if [ -n "$root" ]; then
		busybox=$root/bin/busybox
	else
		busybox=$(command -v busybox) || return 1
	fi
	mkdir -p "$dir"/{bin,modules,proc,sys,dev,root,lower,rw} || return 1
	# Another root has busybox-static.
	put_busybox "$busybox" "$dir" || return 1
	cp "$here/initramfs-init" "$dir/init" && chmod 755 "$dir/init" || return 1
	cp "$here/guest-init" "$dir/guest-init" || return 1
	near_files "$libdir" "$dir/near" "$root"
	for module in $(boot_modules "$release" "$moddir"); do
		cp "$module" "$dir/modules/$n-${module##*/}" || return 1
		n=$((n + 1))
	done
	(cd "$dir" && find . | cpio --quiet -o -H newc) >"$out"
}

# kvm_verdict KERNEL WORKDIR CACHEDIR: prints kvm or tcg. A guest may hang although /dev/kvm can be opened, so this
# boots one to find out. The result is valid until the host reboots.
kvm_verdict() {
	local kernel=$1 work=$2 cache verdict=tcg
	if [ ! -r /dev/kvm ] || [ ! -w /dev/kvm ]; then
		echo tcg
		return
	fi
	cache=$3/kvm-$(cat /proc/sys/kernel/random/boot_id)
	if [ ! -s "$cache" ]; then
		mkdir -p "$3"
		if kvm_trial "$kernel" "$work"; then
			verdict=kvm
		fi
		echo "$verdict" >"$cache.$$" && mv "$cache.$$" "$cache"
	fi
	cat "$cache"
}

kvm_trial() {
	local kernel=$1 dir=$2/trial
	put_busybox "$(command -v busybox)" "$dir/root" || return 1
	cat >"$dir/root/init" <<-'INIT'
	#!/bin/busybox sh
	exec /bin/busybox poweroff -f
	INIT
	chmod 755 "$dir/root/init"
	(cd "$dir/root" && find . | cpio --quiet -o -H newc) >"$dir/initramfs"
	# 6 s is about six times as long as a working KVM needs. KVM works if the guest powers off by itself.
	timeout -s KILL 6 qemu-system-x86_64 -accel kvm -cpu host -M q35 -m 512M -nodefaults -display none \
		-no-reboot -kernel "$kernel" -initrd "$dir/initramfs" -append "panic=0 quiet" </dev/null >/dev/null 2>&1
}
