#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# systemd understands each line of uroce@.service, which has a manual page and may be enabled. tests/guest/70-service.sh runs
# its commands.

set -u
cd "$(dirname "$0")/../.." || exit 1
[ -n "$(type -P systemd-analyze)" ] || { echo "there is no systemd-analyze"; exit 77; }
dir=$(mktemp -d) || exit
trap 'rm -rf "$dir"' EXIT
failed=0

# systemd only warns of a word that it does not know, so any output is a mistake.
for name in uroce@.service uroce@eth0.service; do
	cp packaging/systemd/uroce@.service "$dir/$name" || exit
	said=$(systemd-analyze verify --man=no --recursive-errors=no "$dir/$name" 2>&1)
	status=$?
	[ $status -eq 0 ] && [ -z "$said" ] || { echo "$name: status $status"; echo "$said"; failed=1; }
	rm "$dir/$name"
done
page=$(sed -n 's/^Documentation=man:\(.*\)(\([0-9]\))$/\1.\2/p' packaging/systemd/uroce@.service)
[ -n "$page" ] && [ -e "Documentation/man/$page" ] || { echo "uroce@.service names no manual page of univerbs"; failed=1; }
grep -q '^WantedBy=' packaging/systemd/uroce@.service || { echo "uroce@.service cannot be enabled"; failed=1; }
exit $failed
