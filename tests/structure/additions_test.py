# SPDX-License-Identifier: Apache-2.0
#
# What is added in one place and cannot be written from its table (structure/write_tables.py) stands in all the others: the rows
# of KINDS say which files name it. CONTRIBUTING.md tells people of the same files: each place of a kind is named
# in its section, and what the page names exists: paths, what a step says to look for in a file (no count, which the step
# changes), tests. Also every source and every test belongs to some meson.build.

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


# Code with nothing but commas between: after a path stands what is found in that file.
RUN = re.compile(r"`[^`]+`(?:(?:,| and|, and)\s+`[^`]+`)+")
PATH = re.compile(r"(?:[\w.-]+/)+[\w.*-]*|[\w-]+\.(?:md|build|py|toml)")
TEST = re.compile(r"`meson test -C build ([^`]+)`")
# What a step's addition changes, so that nobody finds it afterwards: a list's end behind its last name.
PASSING = re.compile(r"\w[\"']?[\]}]$")


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


def main():
    complaints = []
    paths = [str(path) for path in all_files()]
    texts = {path: text_of(path) or "" for path in paths if not path.startswith("tests/recordings/")}
    for kind in KINDS:
        complaints += judge_kind(kind, texts)
    complaints += judge_page(texts.get(PAGE, ""), texts, paths, KINDS)
    complaints += judge_built(texts)
    print(*complaints, sep="\n")
    print(f"{sum(len(names_of(kind, texts)) for kind in KINDS)} names of {len(KINDS)} kinds looked up in {ROOT.name}'s files")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
