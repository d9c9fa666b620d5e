#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Documentation/pictures: each picture equals the output of its script for the data in the tree, and a document shows
# it.

set -u
cd "$(dirname "$0")/../.." || exit 1
command -v python3 >/dev/null || { echo "there is no python3"; exit 77; }
failed=0

Documentation/pictures/draw --check || { echo "run Documentation/pictures/draw"; failed=1; }
python3 -c 'import sys, xml.dom.minidom; [xml.dom.minidom.parse(name) for name in sys.argv[1:]]' Documentation/pictures/*.svg ||
	failed=1
for picture in Documentation/pictures/*.svg; do
	grep -qF "pictures/${picture##*/}" README.md Documentation/*.rst ||
		{ echo "$picture: no document shows it"; failed=1; }
done
exit $failed
