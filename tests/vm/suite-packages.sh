# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Unpacks packages of other suites of Debian (trixie, sid) into a directory of their own: the system's packages and the
# state of its apt stay unchanged. The archive is that of the system's apt.

# Lists and archives of each suite are kept here.
: "${UNIV_SUITES:=${XDG_CACHE_HOME:-$HOME/.cache}/univerbs/suites}"

# suite_archive_uri: prints the address of Debian's archive in the system's apt sources.
suite_archive_uri() {
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | sed 's|/*$||' | grep -m1 "/debian\$"
}

# suite_init SUITE[:ARCH]: sets suite_dir and suite_options.
suite_init() {
	local suite=${1%%:*} arch=amd64 uri
	[[ $1 != *:* ]] || arch=${1#*:}
	suite_dir=$UNIV_SUITES/$suite-$arch
	mkdir -p "$suite_dir/state/lists/partial" "$suite_dir/cache/archives/partial" "$suite_dir/none" || return
	touch "$suite_dir/status"
	uri=$(suite_archive_uri)
	[ -n "$uri" ] || { echo "apt here has no archive of Debian"; return 1; }
	echo "deb [arch=$arch signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $suite main" \
		>"$suite_dir/sources.list"
	# No package counts as installed, so each comes with all its dependencies. apt's own user may not have access to
	# this folder.
	suite_options=(-o "Dir::Etc::sourcelist=$suite_dir/sources.list" -o "Dir::Etc::sourceparts=$suite_dir/none"
		-o "Dir::Etc::preferencesparts=$suite_dir/none" -o "Dir::State=$suite_dir/state" -o "Dir::State::status=$suite_dir/status"
		-o "Dir::Cache=$suite_dir/cache" -o "APT::Architecture=$arch" -o "APT::Architectures::=$arch"
		-o APT::Sandbox::User=root -o Debug::NoLocking=true)
}

# suite_update SUITE[:ARCH]: fetches the lists unless they are less than a day old.
suite_update() {
	suite_init "$1" || return
	[ -z "$(find "$suite_dir/updated" -mmin -1440 2>/dev/null)" ] || return 0
	apt-get "${suite_options[@]}" -qq update && touch "$suite_dir/updated"
}

# suite_unpack SUITE[:ARCH] DIR PACKAGE...: unpacks the packages and their dependencies into DIR.
suite_unpack() {
	local dir=$2 path
	suite_update "$1" || return
	shift 2
	apt-get "${suite_options[@]}" -qq -y --no-install-recommends --download-only install "$@" >/dev/null || return
	mkdir -p "$dir" || return
	# apt does not list a package that is in its cache already, so the names are queried with an empty cache.
	while read -r path; do
		dpkg-deb -x "$suite_dir/cache/archives/$path" "$dir" || return
	done < <(apt-get "${suite_options[@]}" -o "Dir::Cache::archives=$suite_dir/none" -qq -y \
		--no-install-recommends --print-uris install "$@" | awk '$1 ~ /^\047/ { print $2 }')
}
