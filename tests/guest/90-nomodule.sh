# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Without a module, or without a device, the library explains the failure. The kernel can also load the module by
# itself. The script is the last one because it unloads modules.
#
# needs: modules
# runs in: guest coverage-library

# shellcheck source=tests/user/guest.sh
. "$UNIV_REPO/tests/user/guest.sh"

need_univerbs || exit 1

# said WORDS: the tutorial fails, and one line of the explanation has the words.
said() {
	local out
	out=$(UNIVERBS_EXPLAIN=1 program tutorial 2>&1) && { echo "succeeded: $out"; return 1; }
	grep -qi "^univerbs: .*$1" <<<"$out" && return
	echo "expected a line with \"$1\", got:"
	echo "$out"
	return 1
}

no_module() {
	unload_univerbs || return 1
	said "univerbs.*not loaded"
}

# Make a modules directory with univerbs alone, so that depmod is quick.
install_module() {
	local dir
	dir=/lib/modules/$(uname -r)
	mount -t tmpfs tmpfs "$dir" &&
		mkdir "$dir/extra" &&
		cp "$UNIV_KO" "$dir/extra/" &&
		touch "$dir/modules.order" "$dir/modules.builtin" &&
		depmod -a 2>/dev/null
}

remove_module() { umount "/lib/modules/$(uname -r)"; }

auto_load() {
	unload_univerbs || return 1
	install_module || { echo "cannot install the module in the guest"; return 1; }
	program tutorial
	local status=$?
	remove_module
	[ $status -eq 0 ] && univerbs_loaded
}

no_device() {
	load_univerbs || return 1
	remove_device rxe0 || return 1
	said "no RDMA device"
}

run_test "the lack of the module is explained" 30 no_module
run_test "the kernel loads the module on demand" 60 auto_load
run_test "the lack of a device is explained" 30 no_device
need_univerbs
run_test "a new device works" 30 still_works
