#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# rdma-core's tests, each as one line: its verdict, its name and, unless it passed, why.
#   rdma-core.py FOLDER DEVICE REASONS [REGEX]
# FOLDER has the tests, and REGEX chooses some. A test that is skipped is "skip" if REASONS has a line that begins with
# the start of what it says, and "unexpected" otherwise. Exits 1 if one failed, was unexpected, or if none passed.

import errno
import multiprocessing
import re
import sys
import unittest

folder, device, reasons = sys.argv[1:4]
chosen = re.compile(sys.argv[4] if len(sys.argv) > 4 else "")
sys.path.insert(0, folder)
sys.path.insert(0, folder + "/tests")
sys.dont_write_bytecode = True
with open(reasons, encoding="utf-8") as lines:
    known = [line.split("\t")[0] for line in lines if line.strip() and line[0] != "#"]


class Result(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.count = {}
        self.bad = set()

    def say(self, verdict, test, why=""):
        self.count[verdict] = self.count.get(verdict, 0) + 1
        print(verdict, test.id().replace("tests.", "", 1), why, flush=True)

    def addSuccess(self, test):
        self.say("ok", test)

    # Count failures in set-up and tear-down like failures of the test itself, but only once.
    def fail(self, test, error):
        if test.id() not in self.bad:
            self.bad.add(test.id())
            self.say("FAIL", test)
        print("".join("  " + line for line in self._exc_info_to_string(error, test).splitlines(True)))

    addFailure = addError = fail

    def addSubTest(self, test, subtest, error):
        if error:
            self.fail(test, error)

    def addSkip(self, test, reason):
        expected = any(f"{reason} ({test.id()})".find(start) >= 0 for start in known)
        self.say("skip" if expected else "unexpected", test, reason)


def each(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from each(test)
        elif chosen.search(test.id()):
            yield test


# The tests look for the network device below the device's parent in sysfs, which a software device does not have.
# A port of InfiniBand has no network device, and its file cannot be read.
def add_address(self, dev, port, index):
    address = None, None
    try:
        with open(f"/sys/class/infiniband/{dev}/ports/{port}/gid_attrs/ndevs/{index}", encoding="ascii") as name:
            address = self.get_ip_mac_address(name.read().strip())
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    self.args.append([dev, port, index, *address])


# Tests start processes with objects that cannot be copied. Python forks for that, since 3.14 only on request.
multiprocessing.set_start_method("fork")
sys.argv[1:] = ["--dev", device]
from args_parser import parser  # noqa: E402

parser.parse_args()
tests = __import__("tests")
tests.base.RDMATestCase._get_ip_mac = add_address
result = Result()
for case in each(unittest.defaultTestLoader.loadTestsFromModule(tests)):
    case(result)
print(", ".join(f"{n} {verdict}" for verdict, n in sorted(result.count.items())))
sys.exit(bool(result.bad or "unexpected" in result.count or "ok" not in result.count))
