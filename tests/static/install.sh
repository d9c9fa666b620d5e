#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Installs into a folder: exactly the files that are promised, a pkg-config file that a program can be compiled with, a
# univerbs-run that finds its library, a unit that systemd accepts, sources for DKMS that name both modules; and nothing is left
# by uninstall. Nothing of the machine is touched.
#
# Exits 0, 1 with what is wrong, or 77 if nothing is built.

set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
PATH=$PATH:/sbin:/usr/sbin
# The settings of the make that runs the checks do not apply to the ones below
unset MAKEFLAGS MFLAGS MAKELEVEL DESTDIR prefix libdir includedir bindir mandir datadir systemdunitdir srcdir

for built in build/user/libibverbs.so.1 kernel/core/univerbs.ko; do
	[ -e $built ] || { echo "$built is not built (make)"; exit 77; }
done

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0

wrong() {
	echo "$*"
	failed=1
}

# run COMMAND...: shows its output if it fails
run() {
	"$@" >"$tmp/out" 2>&1 && return
	wrong "failed: $*"
	cat "$tmp/out"
	return 1
}

# The path of each installed file, relative to DESTDIR, with prefix=/usr
promised() {
	local file
	echo "lib/modules/$release/extra/univerbs.ko"
	echo "lib/modules/$release/extra/uroce.ko"
	echo "lib/modules/$release/extra/univerbs.symvers"
	for file in explain report run vm; do
		echo "usr/bin/univerbs-$file"
	done
	for file in agent devices.sh guest-init host initramfs-init kernel.sh run short-slices tsc-khz.c; do
		echo "usr/lib/univerbs/vm/$file"
	done
	echo usr/sbin/uroce-fault
	echo usr/lib/pkgconfig/univerbs.pc
	echo usr/lib/udev/rules.d/90-univerbs.rules
	echo usr/lib/systemd/system/uroce@.service
	echo usr/share/univerbs/compat.mk
	echo usr/share/univerbs/driver.mk
	echo usr/lib/univerbs/libibverbs.so
	echo usr/lib/univerbs/libibverbs.so.1
	echo usr/lib/univerbs/libuniverbs-explain.so
	for file in user/include/infiniband/*.h; do
		echo "usr/include/univerbs/infiniband/${file##*/}"
	done
	for file in uapi/*.h; do
		echo "usr/include/univerbs/univerbs/${file##*/}"
	done
	for file in kernel/include/*.h; do
		echo "usr/include/univerbs/kernel/${file##*/}"
	done
	for file in univerbs-{explain,report,run,vm}.1 uroce-fault.8 univerbs{_explain,_last_error,_reason_name}.3 \
			univerbs_{extend_mr,modify_ah,share_mr}.3 univerbs_query_{ah,cq,mr,mw}.3 univerbs.7; do
		echo "usr/share/man/man${file##*.}/$file"
	done
}

check_files() {
	(cd "$dest" && find . ! -type d | sed 's|^\./||' | sort) >"$tmp/installed"
	promised | sort >"$tmp/promised"
	# < is promised, > is installed
	diff "$tmp/promised" "$tmp/installed" || wrong "these files differ from what is promised"
	for file in verbs.h univerbs.h; do
		grep -q "infiniband/$file$" "$tmp/installed" || wrong "$file is not installed"
	done
}

# check_modes: programs and the library 755, the rest 644
check_modes() {
	local programs=(-path '*/*bin/*' -o -name 'libibverbs.so.1' -o -path '*/vm/run' -o -path '*/vm/short-slices')
	find "$dest" -type f \( "${programs[@]}" \) ! -perm 755 >"$tmp/modes"
	find "$dest" -type f ! \( "${programs[@]}" \) ! -perm 644 >>"$tmp/modes"
	[ ! -s "$tmp/modes" ] || wrong "wrong modes: $(tr '\n' ' ' <"$tmp/modes")"
	[ "$(readlink "$dest/usr/lib/univerbs/libibverbs.so")" = libibverbs.so.1 ] || wrong "libibverbs.so points elsewhere"
}

check_filled_in() {
	grep -rlIE '@[A-Z]+@' "$dest" >"$tmp/unfilled" && wrong "not filled in: $(tr '\n' ' ' <"$tmp/unfilled")"
	grep -rlIF -- "$dest" "$dest" >"$tmp/staged" && wrong "names the folder of the staging: $(tr '\n' ' ' <"$tmp/staged")"
	return 0
}

check_module() {
	command -v modinfo >/dev/null || return 0
	modinfo -F alias "$dest/lib/modules/$release/extra/univerbs.ko" | grep -qx rdma-client-univerbs ||
		wrong "the module has not the alias by which netlink loads it"
	for module in univerbs uroce; do
		[ "$(modinfo -F version "$dest/lib/modules/$release/extra/$module.ko")" = "$version" ] ||
			wrong "$module.ko does not say version $version"
	done
	grep -qw kernel/core/univerbs "$dest/lib/modules/$release/extra/univerbs.symvers" ||
		wrong "univerbs.symvers has no symbol of univerbs.ko"
}

# A copy of the unit whose name has an instance, as systemd wants it
check_unit() {
	command -v systemd-analyze >/dev/null || return 0
	cp "$dest/usr/lib/systemd/system/uroce@.service" "$tmp/uroce@lo.service"
	systemd-analyze verify --man=no "$tmp/uroce@lo.service" >"$tmp/out" 2>&1 && [ ! -s "$tmp/out" ] ||
		wrong "systemd-analyze verify: $(cat "$tmp/out")"
}

# DKMS gets the sources of both modules and of no other, with this version
check_dkms() {
	local source=$tmp/dkms/usr/src/univerbs-$version
	run make -s install-dkms DESTDIR="$tmp/dkms" || return
	find "$source" -type f | grep -vE '\.[ch]$|/Kbuild$|/(dkms.conf|keep-symvers)$' >"$tmp/out"
	find "$source" -name '*.mod.c' >>"$tmp/out"
	[ ! -s "$tmp/out" ] || wrong "install-dkms copies $(tr '\n' ' ' <"$tmp/out")"
	for module in core/univerbs uroce/uroce; do
		grep -q "^BUILT_MODULE_NAME.*=\"${module#*/}\"" "$source/dkms.conf" &&
			grep -q "^BUILT_MODULE_LOCATION.*=\"kernel/${module%/*}\"" "$source/dkms.conf" &&
			[ -e "$source/kernel/${module%/*}/Kbuild" ] || wrong "dkms.conf does not build $module.ko"
	done
	grep -qx "PACKAGE_VERSION=\"$version\"" "$source/dkms.conf" || wrong "dkms.conf is not of version $version"
	run make -s uninstall-dkms DESTDIR="$tmp/dkms"
	[ -z "$(find "$tmp/dkms" -name 'univerbs*')" ] || wrong "uninstall-dkms leaves $source"
}

# A program that links to a verb and to a function that only univerbs has
write_program() {
	cat >"$tmp/program.c" <<-'PROGRAM'
	#include <infiniband/univerbs.h>
	#include <infiniband/verbs.h>
	#include <stdio.h>
	#include <univerbs/univerbs.h>

	int main(void)
	{
		printf("%s, %s\n", ibv_wc_status_str(IBV_WC_SUCCESS), univerbs_reason_name(UNIV_REASON_NONE));
		return 0;
	}
	PROGRAM
}

# check_compiles WHAT: pkg-config as set up by the caller; leaves the program in $tmp/program
check_compiles() {
	local flags
	flags=$(pkg-config --cflags --libs univerbs 2>"$tmp/out") || { wrong "$1: pkg-config: $(cat "$tmp/out")"; return 1; }
	rm -f "$tmp/program"
	# shellcheck disable=SC2086 # flags are words
	run "${CC:-cc}" -Wall -Wextra -Werror -o "$tmp/program" "$tmp/program.c" $flags || { echo "$1: $flags"; return 1; }
}

check_runs() {
	local out
	out=$("$@" 2>&1)
	[ "$out" = "success, NONE" ] || wrong "$*: says \"$out\""
}

check_staged_pkg_config() {
	export PKG_CONFIG_PATH=$dest/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$dest
	check_compiles "staged" && check_runs env LD_LIBRARY_PATH="$dest/usr/lib/univerbs" "$tmp/program"
	[ "$(pkg-config --modversion univerbs)" = "$version" ] || wrong "univerbs.pc does not say version $version"
	[ "$(PKG_CONFIG_SYSROOT_DIR='' pkg-config --variable=libdir univerbs)" = /usr/lib/univerbs ] ||
		wrong "univerbs.pc does not say libdir /usr/lib/univerbs"
	unset PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
}

# The same where it is used from: without DESTDIR, and without modules, which would go into this machine
check_in_place() {
	local prefix=$tmp/in-place launcher=$tmp/in-place/bin/univerbs-run
	run make -s install-user prefix="$prefix" || return
	[ "$("$launcher" --library)" = "$prefix/lib/univerbs" ] || wrong "univerbs-run --library says $("$launcher" --library 2>&1)"
	[ "$("$launcher" --version)" = "univerbs-run $version" ] || wrong "univerbs-run --version says $("$launcher" --version 2>&1)"
	[ "$("$prefix/sbin/uroce-fault" --version)" = "uroce-fault $version" ] || wrong "uroce-fault --version does not say $version"
	export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
	check_compiles "in place" && check_runs "$launcher" "$tmp/program"
	unset PKG_CONFIG_PATH
}

check_uninstalled() {
	local left
	left=$(cd "$dest" && find . ! -type d; cd "$dest" && find . -type d -name 'univerbs*')
	[ -z "$left" ] || wrong "uninstall leaves: $left"
}

dest=$tmp/dest
version=$(packaging/version)
run make -s install DESTDIR="$dest" prefix=/usr || exit 1
# The release is the one that the module was built for
release=$(find "$dest/lib/modules" -mindepth 1 -maxdepth 1 -printf '%f\n')
[ "$(modinfo -F vermagic kernel/core/univerbs.ko 2>/dev/null | cut -d ' ' -f 1)" = "$release" ] ||
	wrong "the module is not built for the kernel \"$release\" whose folder it is installed in"

write_program
check_files
check_modes
check_filled_in
check_module
check_unit
check_dkms
if command -v pkg-config >/dev/null; then
	check_staged_pkg_config
	check_in_place
else
	wrong "pkg-config is missing (make deps)"
fi
# Twice is no error, and changes nothing
run make -s install DESTDIR="$dest" prefix=/usr && check_files
run make -s uninstall DESTDIR="$dest" prefix=/usr && check_uninstalled
run make -s uninstall DESTDIR="$dest" prefix=/usr

[ $failed -eq 0 ] && echo "$(wc -l <"$tmp/promised") files installed and removed"
exit $failed
