#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Each place that tests/mutants/list mutates is there once, and so are the tests that it names. make check runs at least one
# of the tests of each mutation.

set -u
cd "$(dirname "$0")/../.." || exit 1
PYTHONDONTWRITEBYTECODE=1 python3 tests/mutants/mutation.py
