# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2317 # try() calls its arguments
#
# The steps of a user on a real machine: make install, modprobe, univerbs-run, uninstall. The guest's root is discarded
# at the end, so the script really installs.

# shellcheck source=lib.sh
. "$UNIV_REPO/tests/programs/lib.sh"

modules_dir=/lib/modules/$(uname -r)

# depmod reads every module, which takes minutes over 9p, so the guest sees only the modules that the test needs.
few_modules() {
	local few=/run/modules
	mkdir -p "$few"/kernel/drivers/infiniband "$few"/kernel/net &&
		cp -a "$modules_dir"/{build,modules.builtin*,modules.order} "$few" &&
		cp -a "$modules_dir"/kernel/drivers/infiniband/{core,sw} "$few"/kernel/drivers/infiniband &&
		cp -a "$modules_dir"/kernel/net/ipv{4,6}/*udp_tunnel.ko* "$few"/kernel/net &&
		mount --bind "$few" "$modules_dir"
}

installs() {
	make -s -C "$UNIV_REPO" install || return
	ls -l /usr/local/lib/univerbs /usr/local/bin/univerbs-run /usr/local/sbin/uroce-fault "$modules_dir/extra/univerbs.ko" &&
		modinfo -n univerbs
}

modprobe_loads() { modprobe univerbs && wait_until 5 test -c /dev/infiniband/univerbs0; }

# The library's query for a node loads the module.
loads_on_demand() {
	rmmod univerbs || return
	univerbs-run ibv_devinfo -d "$DEVICE" && univerbs_loaded
}

# Without the module there must be an error and no crash.
reports_no_module() {
	local out status
	rmmod univerbs || return
	mv "$modules_dir/extra/univerbs.ko" /run/ && depmod || return
	out=$(UNIVERBS_EXPLAIN=1 univerbs-run ibv_devinfo -d "$DEVICE" 2>&1)
	status=$?
	echo "$out (exit status $status)"
	mv /run/univerbs.ko "$modules_dir/extra/" && depmod || return
	# ibv_devinfo exits with 255; a signal would give 128 plus its number.
	[ $status -eq 255 ] && grep -q "univerbs is not loaded" <<<"$out"
}

run_installed() {
	next_port
	local common=(univerbs-run ibv_rc_pingpong -d "$DEVICE" -g 1 -c -n 100 -p "$port")
	# The installed library is the one that the test checks.
	UNIV_LIBDIR=/usr/local/lib/univerbs pair tcp "$port" "${common[@]}" -- "${common[@]}" "$SERVER" || return
	expect "^100 iters in" "$client_out" "$server_out"
}

# A user's program is compiled with the flags of pkg-config.
compiles() {
	local flags
	export PKG_CONFIG_PATH=/usr/local/lib/pkgconfig
	flags=$(pkg-config --cflags --libs univerbs) || return
	cat >/run/own.c <<-'SOURCE'
	#include <stdio.h>
	#include <infiniband/verbs.h>

	int main(void)
	{
		int n = 0;
		struct ibv_device **list = ibv_get_device_list(&n);

		for (int i = 0; i < n; i++)
			puts(ibv_get_device_name(list[i]));
		ibv_free_device_list(list);
		return !n;
	}
	SOURCE
	# shellcheck disable=SC2086 # several words
	gcc -Wall -Werror -o /run/own /run/own.c $flags && univerbs-run /run/own | grep -x "$DEVICE"
}

uninstalls() {
	make -s -C "$UNIV_REPO" uninstall || return
	! find /usr/local "$modules_dir" -path '*univerbs*' | grep .
}

few_modules || fails "set up modules for make install"
try "make install" 60 installs
try "modprobe univerbs" 20 modprobe_loads
try "univerbs-run of the installed library" 40 run_installed
try "a program compiled with pkg-config's flags" 60 compiles
try "univerbs.ko is loaded on demand" 30 loads_on_demand
try "without univerbs.ko there is an error" 90 reports_no_module
try "make uninstall" 60 uninstalls
umount "$modules_dir"
