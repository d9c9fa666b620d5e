#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The tables of Documentation/figures.rst that have measured figures equal the files of bench/figures, row by row, as far as
# the digits of the table go, and ratios equal those of the figures.

set -u
cd "$(dirname "$0")/../.." || exit 1
PYTHONDONTWRITEBYTECODE=1 exec python3 - <<'PYTHON'
import glob
import os
import re
import sys

DOCUMENT = "Documentation/figures.rst"
# The first cell of a table, its file, and the meaning of its other columns: a column of the file, or two for a ratio
TABLES = {
    "call": ("calls.tsv", (0, 1, (1, 0), 2, (2, 0))),
    "register / deregister": ("regions.tsv", (0, 1, (1, 0))),
    "on demand, register / deregister": ("odp.tsv", (0,)),
    "perftest": ("perftest.tsv", (0, 1, 2)),
    "between two guests": ("wire.tsv", (0, 1, (1, 0))),
    "over a veth": ("veth.tsv", (0, 1, (1, 0))),
    "packets lost": ("loss.tsv", (0, 1, (1, 0))),
    "two connections": ("shares.tsv", (0, 1, (1, 0), 2)),
    "object, measured": ("memory.tsv", (0, 1)),
    "way, Debian 12 and 13": ("newcomer.tsv", (0, 1, 2, 4, 5)),
}
UNITS = {"": 1, "k": 1e3, "M": 1e6, "KB": 1e3}
wrong = []


def tables(text):
    """Simple tables: lists of rows, each a list of cells"""
    for rule, head, body in re.findall(r"^(=[= ]+)\n(.*\n)\1\n((?:.+\n)+?)\1\n", text, re.M):
        spans = [found.span() for found in re.finditer("=+", rule)]
        spans[-1] = (spans[-1][0], None)
        yield [[line[a:b].strip() for a, b in spans] for line in [head] + body.splitlines()]


def shows(cell, value):
    """Whether the cell is the value, rounded to the digits of the cell"""
    found = re.fullmatch(r"([0-9]+(?:\.([0-9]+))?) ?(k|M|KB)?", cell)
    if not found:
        return False
    unit = UNITS[found[3] or ""]
    return abs(float(found[1]) * unit - value) <= unit * (0.5 * 10 ** -len(found[2] or "") + 1e-9)


def check_cell(name, row, cell, meaning, data):
    """One cell; it has a value for each of its rows of data, divided by slashes, or one ratio of their sums"""
    parts = cell.split(" / ")
    if isinstance(meaning, tuple) and len(parts) == 1:
        data = [[sum(column) for column in zip(*data)]]
    if len(parts) != len(data):
        wrong.append("%s: %s: the row \"%s\" has %d figures, and not %d" % (DOCUMENT, name, row, len(parts), len(data)))
    for part, values in zip(parts, data):
        value = values[meaning[0]] / values[meaning[1]] if isinstance(meaning, tuple) else values[meaning]
        if not shows(part, value):
            wrong.append("%s: %s: the row \"%s\" says %s, and bench/figures/%s %g" % (DOCUMENT, name, row, part, name, value))


def check_table(name, meanings, table):
    with open("bench/figures/" + name, encoding="utf-8") as lines:
        data = [[float(v) for v in line.split("\t")[1:]] for line in lines.read().splitlines() if line[0] != "#"]
    for row, *cells in table:
        rows = cells[0].count(" / ") + 1
        if len(data) < rows:
            wrong.append("%s: %s has no figures for the row \"%s\"" % (DOCUMENT, name, row))
            return
        for cell, meaning in zip(cells, meanings):
            check_cell(name, row, cell, meaning, data[:rows])
        data = data[rows:]
    if data:
        wrong.append("%s: %s has %d rows more than the table" % (DOCUMENT, name, len(data)))


with open(DOCUMENT, encoding="utf-8") as file:
    found = {table[0][0]: table for table in tables(file.read())}
for first, (name, meanings) in TABLES.items():
    if first not in found or not os.path.exists("bench/figures/" + name):
        wrong.append("%s: there is no table \"%s\", or no bench/figures/%s" % (DOCUMENT, first, name))
    else:
        check_table(name, meanings, found[first][1:])
known = {name for name, _ in TABLES.values()} | {"sizes.tsv"}
wrong += ["bench/figures/%s is compared with no table" % os.path.basename(path)
          for path in glob.glob("bench/figures/*.tsv") if os.path.basename(path) not in known]
print("\n".join(wrong), end="\n" if wrong else "")
sys.exit(bool(wrong))
PYTHON
