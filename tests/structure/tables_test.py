# SPDX-License-Identifier: Apache-2.0
#
# A stranger finds a place by its folder's README: each source of a folder of emulate, cuda and lib stands there, in backticks
# (its name, with or without an ending) or with its ending in a block, and each file that the README names in backticks
# exists.

import fnmatch
import re
import sys

from sources import all_files, text_of

SOURCES = {".h", ".cuh", ".inc", ".cpp", ".cu"}
FAST = "## fast/: "  # begins the part of emulate's README that is about emulate/fast
BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
NAME = re.compile(r"\b\w+\.(?:h|cpp)\b")
FILE = re.compile(r"[\w*./-]*\w\.(h|cuh|inc|cpp|cu|\*)")


def readme_of(folder, texts):
    """The README's path and the part of it that is about the folder; emulate and emulate/fast share one."""
    if folder in ("emulate", "emulate/fast"):
        path = "emulate/README.md"
        before, heading, after = texts.get(path, "").partition(f"\n{FAST}")
        return path, after if folder == "emulate/fast" else before
    return f"{folder}/README.md", texts.get(f"{folder}/README.md", "")


def stem_of(name):
    return re.sub(r"\.(\w+|\*)$", "", name)


def first_cells(text):
    """What stands in the first column of tables of files."""
    for table in re.findall(r"^\| file \|.*\n\|[-|]+\n((?:\|.*\n)*)", text, re.MULTILINE):
        for row in table.splitlines():
            yield from SPAN.findall(row.split("|")[1])


def judge(folder, paths, texts):
    readme, whole = readme_of(folder, texts)
    text = BLOCK.sub("", whole)
    here = [path[len(folder) + 1:] for path in paths if path.startswith(folder + "/")]
    spans = SPAN.findall(text)
    in_blocks = [name for block in BLOCK.findall(whole) for name in NAME.findall(block)]
    named = [stem_of(name.removeprefix(f"{folder}/")) for name in spans + in_blocks]
    complaints = [f"{readme}: lacks `{name}` of {folder}/" for name in here
                  if "/" not in name and "." + name.rsplit(".", 1)[-1] in SOURCES
                  and not any(fnmatch.fnmatchcase(stem_of(name), stem) for stem in named if stem.strip("*"))]
    for span in (span for span in spans if FILE.fullmatch(span)):
        places = [span, f"lib/{span}", f"emulate/{span}"] if "/" in span else []
        if not fnmatch.filter(here, span) and not any(fnmatch.filter(paths, place) for place in places):
            complaints.append(f"{readme}: `{span}` is not in {folder}/")
    for span in first_cells(text):
        if not any(fnmatch.fnmatchcase(name, span) or fnmatch.fnmatchcase(stem_of(name), span) or name.startswith(span.rstrip("/") + "/")
                   for name in here):
            complaints.append(f"{readme}: the table has `{span}`, which is not in {folder}/")
    return complaints


def main():
    complaints = []
    paths = [str(path) for path in all_files()]
    texts = {path: text_of(path) for path in paths if path.endswith("README.md")}
    folders = sorted({path.rsplit("/", 1)[0] for path in paths
                      if re.fullmatch(r"(emulate|emulate/fast|cuda|lib/\w+)/[^/]+", path) and "." + path.rsplit(".", 1)[-1] in SOURCES})
    for folder in folders:
        complaints += judge(folder, paths, texts)
    if not folders:
        complaints.append("no folder has sources: is this the project's root?")
    print(*complaints, sep="\n")
    print(f"the READMEs of {len(folders)} folders looked up")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
