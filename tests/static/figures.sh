#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The tables of Documentation/figures.rst that have measured figures equal the files of bench/figures, row by row, as far as
# the digits of the table go, and ratios equal those of the figures.

set -u
cd "$(dirname "$0")/../.." || exit 1
PYTHONDONTWRITEBYTECODE=1 exec bench/publish --check
