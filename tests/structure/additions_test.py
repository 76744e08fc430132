# SPDX-License-Identifier: Apache-2.0
#
# What is added in one place stands in all the others: a format, an architecture, a level, … is a name in one table, and the
# rows of KINDS say which other files name it. CONTRIBUTING.md tells people of the same files: each place of a kind is named
# in its section, and what the page names exists: paths, what a step says to look for in a file (no count, which the step
# changes), tests. Also every source and every test belongs to some meson.build. The judges are tried on made-up texts that
# are wrong on purpose.

import re
import sys
from typing import NamedTuple

from sources import ROOT, all_files, text_of

PAGE = "CONTRIBUTING.md"


class Kind(NamedTuple):
    """What has a name in a table. Each place is (file or files, pattern in one of these); NAME in either is the name."""
    section: str  # heading of CONTRIBUTING.md
    what: str
    table: str  # the file, or files: each has a part of the table
    block: str  # pattern whose group is the table in it
    row: str  # pattern whose group is a name in the table
    places: list


KINDS = [
    Kind("Add a format", "name in a format's source", "emulate/format.h", r" formats = (.*?)\n\}\);", r"(?:torch|PTX )\.(\w+)", [
        (("lib/format/format_spec.cpp", "emulate/format.h"), r'\{"NAME", '),
    ]),
    Kind("Add a layer", "layer", "lib/train/layers.h", r"(.*)", r"\b(add_\w+)\(Model<T>& model", [
        ("lib/train/networks.cpp", r"\bNAME\("),
        ("tests/lib/train/layers_test.cpp", r"\bNAME\("),
    ]),
    Kind("Add a layer", "op", "lib/train/ops.h", r"(.*)", r"^Var (\w+)\(Tape", [
        ("tests/lib/train/ops_*_test.cpp", r"\bNAME(<\w+>)?\("),
    ]),
    Kind("Add a layer", "network", "lib/train/model.h", r"(.*)", r"^Model<T> (make_\w+)\(", [
        ("lib/train/networks.cpp", r"^template Model<double> NAME\("),
        ("tests/lib/train/model_test.cpp", r"\bNAME<"),
    ]),
    Kind("Add a report column", "figure of a format", "lib/report/figure_table.cpp", r" all_figures = (.*?)\n\}\);",
         r'\{"(\w+)",\s+FigureKind', [
             ("tests/lib/python/ranges_test.py", r'def check_format\((?:(?!\n    def )[\s\S])*"NAME"'),
         ]),
    Kind("Add a report column", "column of the page that sorts", "lib/report/page/table_columns.js",
         r"columns_of_table = \[(.*?)\n\];", r"\{id: '(?!histogram)(\w+)'", [
             ("tests/lib/report/page/*_view.py", r"[\"'=]NAME\b"),
         ]),
    Kind("Add a file format", "format of files", "lib/meson.build", r"^file_formats = \[(.*?)\]", r"'(\w+)'", [
        ("tests/meson.build", r"'NAME_test'"),
    ]),
    Kind("Add a command", "command", "lib/meson.build", r"foreach name : \[([^]]*)\]\n  command_sources", r"'(\w+)'", [
        (("tests/lib/cli/*_cli_test.py", "tests/lib/cli/NAME_command_test.cpp"), r'("NAME"|lib/cli/command)'),
    ]),
]

# Numbers that prose states and that follow from a table: file, pattern whose groups are the numbers as they are written, kind, and
# what they are.
WORDS = dict(enumerate("ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty".split(), 10))
STATED = [
]


def names_of(kind, texts):
    text = "\n".join(texts[path] for path in files_of(kind.table, "", texts)[1])
    block = re.search(kind.block, text, re.DOTALL | re.MULTILINE)
    return list(dict.fromkeys(re.findall(kind.row, block.group(1), re.MULTILINE))) if block else []


def files_of(place, name, texts):
    """The files that a place stands for: one of them has to name what was added."""
    wanted = [file.replace("NAME", name) for file in ((place,) if isinstance(place, str) else place)]
    patterns = [re.compile(re.escape(file).replace(r"\*", "[^/]*")) for file in wanted]
    return " or ".join(wanted), [path for path in texts if any(pattern.fullmatch(path) for pattern in patterns)]


def judge_kind(kind, texts):
    names = names_of(kind, texts)
    if not names:
        return [f"{kind.table}: no {kind.what} was found: has its table another form?"]
    complaints = []
    for name in names:
        for place, pattern in kind.places:
            wanted, found = files_of(place, name, texts)
            said = pattern.replace("NAME", re.escape(name))
            if not any(re.search(said, texts[path], re.MULTILINE) for path in found):
                complaints.append(f"{wanted}: lacks the {kind.what} {name} of {kind.table}: nothing there fits {said} "
                                  f'({PAGE}, "{kind.section}")')
    return complaints


def judge_stated(texts, names, stated):
    complaints = []
    for path, pattern, what, right in stated:
        found = re.search(pattern, texts.get(path, ""))
        said, wanted = list(found.groups()) if found else None, right(names[what])
        if said != wanted:
            complaints.append(f"{path}: it says {said}, not {wanted}, where {pattern} fits (counted: {what})")
    return complaints


# Code with nothing but commas between: after a path stands what is found in that file.
RUN = re.compile(r"`[^`]+`(?:(?:,| and|, and)\s+`[^`]+`)+")
PATH = re.compile(r"(?:[\w.-]+/)+[\w.*-]*|[\w-]+\.(?:md|build|py|toml)")
TEST = re.compile(r"`meson test -C build ([^`]+)`")
# What a step's addition changes, so that nobody finds it afterwards: a count, or a list's end behind its last name.
PASSING = re.compile(rf"(?<![\w.])(\d+|{'|'.join(WORDS.values())})(?![\w.])|\w[\"']?[\]}}]$")


def section_of(page, heading):
    return re.search(rf"^## {heading}$(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)


def judge_page(page, texts, paths, kinds):
    complaints = []
    for kind in kinds:
        section = section_of(page, kind.section)
        if not section:
            complaints.append(f'{PAGE}: there is no section "{kind.section}"')
            continue
        for place, _ in [(kind.table, ""), *kind.places]:
            for file in (place,) if isinstance(place, str) else place:
                if not re.search(re.escape(file).replace(r"\*", r"[^`\s]*"), section.group(1)):
                    complaints.append(f'{PAGE}: "{kind.section}" does not name {file}, where each {kind.what} stands')
    folders = {"/".join(path.split("/")[:depth]) for path in paths for depth in range(1, path.count("/") + 1)}
    for span in re.findall(r"`([^`\n]+)`", page):
        if PATH.fullmatch(span) and "NAME" not in span and not span.startswith("build/"):
            if not any(re.fullmatch(re.escape(span.rstrip("/")).replace(r"\*", "[^/]*"), path) for path in {*paths, *folders}):
                complaints.append(f"{PAGE}: `{span}` is not there")
    for run in RUN.findall(page):
        path = None
        for span in re.findall(r"`([^`]+)`", run):
            if PATH.fullmatch(span) or "NAME" in span:
                path = span
            elif path in texts and span not in texts[path]:
                complaints.append(f"{PAGE}: `{span}` does not stand in {path}")
            if span != path and PASSING.search(span):
                complaints.append(f"{PAGE}: `{span}` will not stand there when something was added: quote words that stay")
    built = "\n".join(text for path, text in texts.items() if path.endswith("meson.build"))
    for name in (name for line in TEST.findall(page) for name in line.split() if not name.startswith("--") and "NAME" not in name):
        if not any(f"'{part}" in built for part in (name, name.rsplit("/", 1)[-1], name.removesuffix("_cli"))):
            complaints.append(f"{PAGE}: no meson.build has a test {name}")
    return complaints


SOURCE = re.compile(r"(emulate|lib|cuda|experiments|tests)/.*(\.cpp|\.cu|_test\.py)")


def judge_built(texts):
    """Sources and tests that no meson.build names. A foreach may add how their names end."""
    built = set(re.findall(r"[\w-]+", "\n".join(text for path, text in texts.items() if path.endswith("meson.build"))))
    complaints = []
    for path in texts:
        stem = path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
        if SOURCE.fullmatch(path):
            if not {stem, stem.removesuffix("_test"), stem.removesuffix("_cli_test"), stem.removesuffix("_command"), stem.removesuffix("_fuzz")} & built:
                complaints.append(f"{path}: no meson.build names it, so nobody compiles or runs it")
    return complaints


MADE_KIND = Kind("Add a fruit", "fruit", "a/table.h", r"fruits\{(.*?)\}", r'"(\w+)"', [
    ("a/README.md", r"^NAME "), ("a/NAME.cpp", r"NAME"), (("a/one.py", "a/two.py"), r"NAME")])
MADE = {"a/table.h": 'fruits{"fig", "plum"}', "a/README.md": "fig 1\nplum 2\n", "a/fig.cpp": "fig", "a/plum.cpp": "plum",
        "a/one.py": "fig", "a/two.py": "plum", "meson.build": "test('fruit')"}
MADE_PAGE = "## Add a fruit\n1. `a/table.h`, `fruits`: a row\n2. `a/README.md`, `a/NAME.cpp` a/one.py a/two.py\n`meson test -C build fruit`\n"


def self_test():
    complaints = [f"a right tree: {text}" for text in judge_kind(MADE_KIND, MADE)]
    complaints += [f"a right page: {text}" for text in judge_page(MADE_PAGE, MADE, list(MADE), [MADE_KIND])]
    for path, text in {"a/table.h": "fruits{}", "a/README.md": "plum 2\n", "a/plum.cpp": "", "a/two.py": ""}.items():
        if not judge_kind(MADE_KIND, MADE | {path: text}):
            complaints.append(f"accepted {path} as {text!r}")
    for right, wrong in [("Add a fruit", "Add"), ("a/README.md", "a"), ("`fruits`", "`nuts`"), ("build fruit", "build nut"),
                         ("a/table.h", "a/tables.h"), ("`fruits`", "`\"plum\"}`"), ("`a/NAME.cpp`", "`a/NAME.cpp`, `a/README.md`, `plum 2`")]:
        if not judge_page(MADE_PAGE.replace(right, wrong), MADE, list(MADE), [MADE_KIND]):
            complaints.append(f"accepted a page with {wrong!r} for {right!r}")
    nuts = Kind("", "nut", "b/*.h", r"(.*)", r"^nut (\w+)", [("b.md", r"NAME")])
    if judge_kind(nuts, {"b/a.h": "nut ash", "b/b.h": "nut elm", "b.md": "ash elm"}):
        complaints.append("rejected a table in two files")
    for texts in {"b/a.h": "nut ash", "b/b.h": "nut elm", "b.md": "ash"}, {"b/c/a.h": "nut ash", "b.md": "ash"}:
        if not judge_kind(nuts, texts):
            complaints.append(f"accepted {texts}")
    stated = [("b.md", r"(\w+) nuts", "nut", lambda names: [WORDS[len(names)]])]
    for text, is_right in {"eleven nuts": True, "ten nuts": False, "nuts": False}.items():
        if is_right != (judge_stated({"b.md": text}, {"nut": ["elm"] * 11}, stated) == []):
            complaints.append(f"{'rejected' if is_right else 'accepted'} {text!r} of eleven")
    if judge_built({"meson.build": "'a_test', 'b'", "tests/a_test.cpp": "", "tests/b_cli_test.py": ""}):
        complaints.append("rejected tests that are built")
    if not judge_built({"meson.build": "'a_test'", "tests/b_test.py": ""}):
        complaints.append("accepted a test that nobody runs")
    return complaints


def main():
    complaints = self_test()
    paths = [str(path) for path in all_files()]
    texts = {path: text_of(path) or "" for path in paths if not path.startswith("tests/recordings/")}
    names = {kind.what: names_of(kind, texts) for kind in KINDS}
    for kind in KINDS:
        complaints += judge_kind(kind, texts)
    complaints += judge_stated(texts, names, STATED)
    complaints += judge_page(texts.get(PAGE, ""), texts, paths, KINDS)
    complaints += judge_built(texts)
    print(*complaints, sep="\n")
    print(f"{sum(map(len, names.values()))} names of {len(KINDS)} kinds looked up in {ROOT.name}'s files")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
