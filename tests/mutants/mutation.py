# SPDX-License-Identifier: GPL-2.0
"""Mutations: what tests/mutants/list says, and how they come into a copy of the sources.

A file of tests/mutants/list has the mutations of one area. Each is a block of lines, the first a name, the others a word,
a tab and what it says:

    unasked-ack
            in      kernel/uroce/conn/comp.c comp_dispatch
            old     uroce_psn_diff(pkt->psn, req->high) >= 0
            new     uroce_psn_diff(pkt->psn, req->high) > 0
            by      kunit uroce_loss

in   the file and the function; old must occur there exactly once. Between words any space is as good as another.
old  an expression, or statements when it ends in ; or }
new  what stands there instead; without it the statements are left out
by   a test that ought to fail then; several are tried in their order (tests/mutants/guest.sh has the kinds)
same instead of by: the sentence why nothing can tell the two apart
open beside by: what is still to be found out; runs only when it is asked for

Many mutations are compiled into one build: in the copy of the sources, old becomes "number is chosen ? new : old", or an if
for statements. Mutations of the same expression share one such choice.
"""
import collections
import glob
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))

KINDS = ("rxe", "uroce", "packets", "wire", "loss", "duplicate", "reorder", "corrupt", "paths", "script", "kunit")
# On the test kernel; a test of KUnit always runs there
TEST = "test"
KNOWN_WORDS = ("in", "old", "new", "by", "same", "open")


class Mutation:
    def __init__(self, name, area, number):
        self.name, self.area, self.number = name, area, number
        self.file = self.function = self.old = self.new = self.same = self.open = None
        self.by = []

    def set(self, word, text):
        if word == "in":
            self.file, self.function = text.split()
        elif word == "by":
            self.by.append(text)
        else:
            setattr(self, word, text)

    @property
    def is_statement(self):
        return self.old[-1] in ";}"


def read_list(folder=os.path.join(HERE, "list")):
    found = []
    for path in sorted(glob.glob(os.path.join(folder, "*"))):
        mutation = None
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                line = line.rstrip("\n")
                if not line.strip() or line.startswith("#"):
                    continue
                if not line.startswith("\t"):
                    mutation = Mutation(line, os.path.basename(path), len(found) + 1)
                    found.append(mutation)
                    continue
                word, _, text = line.strip().partition("\t")
                if mutation is None or word not in KNOWN_WORDS:
                    raise SystemExit("%s: cannot read: %s" % (path, line))
                mutation.set(word, text.strip())
    return found


def function_body(text, name):
    """Where the function's body begins and ends; None if there is no such function."""
    for match in re.finditer(r"^(?=[A-Za-z_])[^\n;={}#]*\b%s\(" % re.escape(name), text, re.M):
        opens = re.compile(r"[{;]").search(text, match.end())
        if not opens or opens.group() == ";":
            continue
        closes = text.find("\n}", opens.start())
        if closes > 0:
            return opens.start() + 1, closes + 1
    return None


def pattern(old):
    """A pattern for the text with any blanks between its words, which does not begin or end within an identifier."""
    text = r"\s+".join(re.escape(word) for word in old.split())
    begin = r"\b" if re.match(r"\w", old) else ""
    end = r"\b" if re.search(r"\w$", old) else ""
    return re.compile(begin + text + end)


def place(mutation, text):
    """Where old is, or a sentence what is wrong."""
    body = function_body(text, mutation.function)
    if not body:
        return None, "there is no function %s" % mutation.function
    hits = [hit for hit in pattern(mutation.old).finditer(text, *body)]
    if len(hits) != 1:
        return None, "old occurs %d times in %s" % (len(hits), mutation.function)
    # Not in the middle of one, such as a declaration
    before = re.sub(r"/\*.*?\*/", "", text[body[0]:hits[0].start()], flags=re.S).rstrip()
    if mutation.is_statement and not re.search(r"([;{}):]|\b(else|do)|^)$", before):
        return None, "old is only a part of a statement in %s" % mutation.function
    return hits[0].span(), None


def sources(mutations):
    by_file = collections.defaultdict(list)
    for mutation in mutations:
        by_file[mutation.file].append(mutation)
    return by_file


def replaced(mutations, old):
    """The code that stands for old, whose mutations all have the same place."""
    if mutations[0].is_statement:
        code = "{ %s }" % old
        for mutation in mutations:
            code = "{ if (UNIV_MUTANT(%d)) { %s } else %s }" % (mutation.number, mutation.new or "", code)
        return code
    code = "(%s)" % old
    for mutation in mutations:
        code = "(UNIV_MUTANT(%d) ? (%s) : %s)" % (mutation.number, mutation.new, code)
    return code


def planted(text, mutations):
    """The text with all of a file's mutations in it."""
    places = collections.defaultdict(list)
    for mutation in mutations:
        span, wrong = place(mutation, text)
        if wrong:
            raise SystemExit("%s (%s): %s" % (mutation.name, mutation.file, wrong))
        places[span].append(mutation)
    end = len(text)
    for span in sorted(places, reverse=True):
        if span[1] > end:
            raise SystemExit("%s overlaps another mutation" % places[span][0].name)
        end = span[0]
        text = text[:span[0]] + replaced(places[span], text[span[0]:span[1]]) + text[span[1]:]
    return text


def cases_of(program):
    """The cases of a program of tests/user, of a suite of tests/kunit; None if there is no such file."""
    for path, case in (("tests/user/*/%s.c", r'^\t\{ "(\w+)", \w+ \},$'), ("tests/kunit/%s_kunit.c", r"KUNIT_CASE\((\w+)\)")):
        for path in glob.glob(os.path.join(TREE, path % program)):
            with open(path, encoding="utf-8") as source:
                return re.findall(case, source.read(), re.M)
    return None


def wrong_test(test):
    """A sentence what is wrong with it, or None."""
    words = test.split()
    if words[0] == TEST:
        words = words[1:]
    kind, name, cases = words[0], words[1], words[2:]
    if kind not in KINDS:
        return "no kind of test is called " + kind
    if kind == "script":
        return None if os.path.exists(os.path.join(TREE, "tests/guest/%s.sh" % name)) else "there is no script " + name
    known = cases_of(name)
    if known is None:
        return "there is no test " + name
    strange = [case for case in cases if case not in known]
    return "%s has no case %s" % (name, strange[0]) if strange else None


def scripts_of_stages():
    """The texts of the guest scripts that the stages of make check run, by name, the names that the test kernel runs, and those
    that run over rdma_rxe."""
    texts, on_test_kernel, over_rxe = {}, set(), set()
    for path in glob.glob(os.path.join(TREE, "tests/guest/*.sh")):
        name = os.path.basename(path)[:-3]
        with open(path, encoding="utf-8") as source:
            text = source.read()
        stages = {word for line in re.findall(r"^# runs in: (.*)$", text, re.M) for word in line.split()}
        if stages & {"guest", "guest-uroce", "test-kernel-uroce"}:
            texts[name] = text
        if "test-kernel-uroce" in stages:
            on_test_kernel.add(name)
        # The stage's other scripts make devices of uroce themselves
        if "guest" in stages and not name.startswith("7"):
            over_rxe.add(name)
    return texts, on_test_kernel, over_rxe


def runs_by_packets(text, name, cases):
    """Whether a line of a script whose queue pairs use packets has all cases of the program, or one of those."""
    if "tests/user/packets.sh" not in text:
        return False
    lines = [line for line in text.splitlines() if re.search(r"\b%s\b" % name, line)]
    return any("by_packets " in line or any(re.search(r"\b%s\b" % case, line) for case in cases) for line in lines)


def is_in_a_stage(test, scripts):
    """Whether make check runs it, as far as the names in the scripts show."""
    texts, on_test_kernel, over_rxe = scripts
    words = test.split()
    if words[0] == TEST and words[1] == "script":
        return words[2] in on_test_kernel
    kind, name, *cases = [word for word in words if word != TEST]
    if kind == "script":
        return name in texts
    if kind == "packets":
        return any(runs_by_packets(text, name, cases) for text in texts.values())
    where = over_rxe if kind == "rxe" else texts
    return kind == "kunit" or any(re.search(r"\b%s\b" % name, texts[script]) for script in where)


def is_expression(text):
    """Whether it looks like a whole one: no statement, nothing after an operator, parentheses closed, ? with a colon."""
    if re.match(r"(if|for|while|do|switch|return|goto|break|continue)\b", text) or re.search(r"(&&|\|\||[=,])$", text):
        return False
    depth, questions = 0, 0
    for char in re.sub(r"\"(\\.|[^\"])*\"|'(\\.|[^'])*'", "0", text):
        depth += (char in "([") - (char in ")]")
        questions += (char == "?") - (char == ":")
        if depth < 0 or questions < 0 or char in ";{}":
            return False
    return depth == 0 and questions == 0


def wrong(mutation, text):
    """Sentences what is wrong with it."""
    if not mutation.file or not mutation.old or bool(mutation.by) == bool(mutation.same):
        return ["it needs in, old, and either by or same"]
    if not mutation.is_statement and not mutation.new:
        return ["an expression needs something to stand for it"]
    if not mutation.is_statement and not (is_expression(mutation.old) and is_expression(mutation.new)):
        return ["old or new is neither a whole expression nor statements that end in ; or }"]
    found = [wrong_test(test) for test in mutation.by] + [place(mutation, text)[1]]
    return [each for each in found if each]


def by_area(listed):
    """For each area how many mutations have a test that ought to kill them, have no effect, and are open."""
    rows = collections.OrderedDict()
    for mutation in listed:
        row = rows.setdefault(mutation.area, [0, 0, 0])
        row[1 if mutation.same else 2 if mutation.open else 0] += 1
    rows["all"] = [sum(column) for column in zip(*rows.values())]
    return ["%-12s %4d with a test %4d alike %4d open" % (area, *row) for area, row in rows.items()]


def check():
    """Prints what is wrong with the list; 0 if nothing is."""
    listed = read_list()
    names = collections.Counter(mutation.name for mutation in listed)
    found = ["%s: the name is used twice" % name for name, times in names.items() if times > 1]
    for file, of_file in sources(listed).items():
        with open(os.path.join(TREE, file), encoding="utf-8") as source:
            text = source.read()
        for mutation in of_file:
            found += ["%s/%s (%s): %s" % (mutation.area, mutation.name, file, each) for each in wrong(mutation, text)]
        if not found:
            planted(text, of_file)
    scripts = scripts_of_stages()
    found += ["%s/%s: no stage of make check runs any of its tests" % (mutation.area, mutation.name) for mutation in listed
              if mutation.by and not any(is_in_a_stage(test, scripts) for test in mutation.by)]
    print("\n".join(found + by_area(listed)))
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(check())
