#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Compares the tests with their descriptions: each script of tests/guest says what it needs and where it runs, and every
# list that is named so is asked for; names of programs are used once, and a script runs each program; the table "Tests by
# noun" of Documentation/testing.rst names every program, script and KUnit suite, and no file that is not there; its text
# about tests/static names every script there, and no other. Each KUnit suite has the name under which 05-kunit.sh looks.
# Each function of which tests/coverage/unreached says why lines of it are not reached is in its file. Each line of
# tests/sanitize/exclusions names a program, or cases of it, and says why.

set -u
cd "$(dirname "$0")/../.." || exit 1
PYTHONDONTWRITEBYTECODE=1 exec python3 - <<'PYTHON'
import collections
import glob
import os
import re
import sys
sys.path.insert(0, "tests/mutants")
from mutation import function_body

TABLE = "Documentation/testing.rst"
# Lists of more than one script list (tests/coverage/run, tests/kernels/check), and the choice of make quick
LISTS = {"quick", "coverage-core", "coverage-core-uroce", "coverage-uroce", "coverage-library", "coverage-library-uroce", "kernels",
         "kernels-arm64", "kernels-spared", "kernels-uroce"}
wrong = []


def text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def names(pattern):
    return [os.path.basename(path) for path in sorted(glob.glob(pattern))]


def head(path, line):
    """The words of such lines in the head of a script."""
    words = []
    for found in re.findall(r"^# %s: *(.*)$" % line, text(path).split("\n\n", 1)[0], re.M):
        words += found.split()
    return words


known = set(re.findall(r"^#   ([a-z-]+)  +\S", text("tests/guest/list"), re.M))
places = LISTS | {re.sub(r"^\d+-", "", name) for name in names("tests/stages.d/*") + names("tests/parts.d/*")}
asked = "".join(text(path) for path in
                glob.glob("tests/stages.d/*") + glob.glob("tests/parts.d/*") + ["tests/coverage/run", "tests/kernels/check"])
scripts = sorted(glob.glob("tests/guest/*.sh"))
used = set()
for script in scripts:
    needs, runs = head(script, "needs"), head(script, "runs in")
    if not needs:
        wrong.append("%s: its head has no line '# needs:' (tests/guest/list)" % script)
    wrong += ["%s: tests/guest/list does not explain the need %s" % (script, word) for word in needs if word not in known]
    wrong += ["%s: there is no stage or part %s" % (script, word) for word in runs if word not in places]
    used.update(runs)
for name in sorted(used):
    if not re.search(r"(tests/guest/list( --needs [a-z-]+)?|echo|list=) ?%s(?![a-z-])" % re.escape(name), asked):
        wrong.append("scripts run in %s, which does not ask tests/guest/list for them" % name)

programs = collections.Counter(name for kind in ("use", "misuse", "hostile", "device", "uroce", "tools")
                               for name in names("tests/user/%s/*.c" % kind))
wrong += ["tests/user has more than one program %s" % name for name, count in programs.items() if count > 1]

table = re.search(r"^Tests by noun\n=+\n(.*?)^Stages\n=+$", text(TABLE), re.M | re.S)
rows = table.group(1).split("\n\n", 1)[1] if table else ""
named = set(re.findall(r"``([^`]+)``", rows))
there = set(names("tests/guest/*.sh") + names("tests/kunit/*_kunit.c"))
there.update(name for kind in ("use", "misuse", "hostile", "device", "uroce") for name in names("tests/user/%s/*.c" % kind))
tools = set(names("tests/user/tools/*.c"))
for path in sorted(glob.glob("tests/kunit/*_kunit.c")):
    suite = "univ_" + os.path.basename(path)[:-len("_kunit.c")]
    if '.name = "%s",' % suite not in text(path):
        wrong.append("%s: the suite is not called %s, so 05-kunit.sh does not find it" % (path, suite))
run = "".join(text(path) for path in glob.glob("tests/guest/*.sh") + glob.glob("tests/pci/*") + glob.glob("tests/sanitize/*.sh")
              if os.path.isfile(path))
wrong += ["tests/user/*/%s: no script of tests/guest runs it" % name for name in sorted(there)
          if name.endswith(".c") and not name.endswith("_kunit.c") and not re.search(r"\b%s\b" % name[:-2], run)]
wrong += ["%s: the table \"Tests by noun\" does not name %s" % (TABLE, name) for name in sorted(there - named)]
wrong += ["%s: the table \"Tests by noun\" names %s, which does not exist" % (TABLE, name) for name in sorted(named - there - tools)]

for kind in "static", "compile":
    checks = re.search(r"^``tests/%s``\n(.*?)\n\n" % kind, text(TABLE), re.M | re.S)
    described = set(re.findall(r"[a-z-]+\.sh", checks.group(1) if checks else ""))
    present = set(names("tests/%s/*.sh" % kind))
    wrong += ["%s: tests/%s/%s is not described" % (TABLE, kind, name) for name in sorted(present - described)]
    wrong += ["%s: there is no tests/%s/%s" % (TABLE, kind, name) for name in sorted(described - present)]

excluded = collections.Counter()
for line in text("tests/sanitize/exclusions").splitlines():
    found = re.match(r"(address|thread|valgrind|all) (\w+)((?: \w+)*): [A-Z].*\.$", line)
    if not found:
        wrong += ["tests/sanitize/exclusions: not a checker, a program and a sentence: %s" % line] if line and line[0] != "#" else []
        continue
    source = "".join(text(path) for path in glob.glob("tests/user/*/%s.c" % found[2]))
    wrong += ["tests/sanitize/exclusions: there is no %s" % " ".join((found[2], case)) for case in found[3].split() or [""]
              if not source or '{ "%s"' % case not in source and case]
    for kind in ("address", "thread", "valgrind") if found[1] == "all" else (found[1],):
        excluded.update((kind, found[2], case) for case in found[3].split() or [""])
wrong += ["tests/sanitize/exclusions names %s twice" % " ".join(key) for key, count in excluded.items() if count > 1]

def has_function(path, name):
    source = text(path) if os.path.exists(path) else ""
    # A macro may define it, by its name or by the end of its name
    names = [name] + [name[len(prefix):] for prefix in re.findall(r"(\w+)##name\(", source) if name.startswith(prefix)]
    return function_body(source, name) or any(re.search(r"^\w+\(.*\b%s\b" % each, source, re.M) for each in names)


reasons = re.findall(r"^([\w./]+) (\w+): ", text("tests/coverage/unreached"), re.M)
wrong += ["tests/coverage/unreached: %s has no function %s" % each for each in reasons if not has_function(*each)]

print("\n".join(wrong + ["%d scripts, %d programs, %d names in the table, %d reasons" %
                         (len(scripts), len(programs), len(named), len(reasons))]))
sys.exit(bool(wrong))
PYTHON
