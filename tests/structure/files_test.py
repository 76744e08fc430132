# SPDX-License-Identifier: Apache-2.0
#
# Enforces the rules for every file: the licence line and a paragraph at its head, `#pragma once` in headers, words that are
# not used, "Returns" on functions alone, no other files at the top level, no empty room. The checks are first tried on files that are wrong on purpose.

import re
import sys

from sources import all_files, text_of

ROOMS = ["lib", "cuda", "emulate", "experiments", "tests", "notebooks"]
TOP_LEVEL = ["meson.build", "meson_options.txt", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "pyproject.toml",
             "dev"]
BUILD_FILE_LINES = 100

LICENCE = "SPDX-License-" + "Identifier: Apache-2.0"
# Files that carry the licence line, and the ones whose next lines must say what the file is for.
LICENSED = re.compile(r".*\.(h|cuh|cpp|cu|inc|py|sh|css|js|html|build)|.*/?meson_options\.txt|dev|\.ci/run")
EXPLAINED = re.compile(r".*\.(h|cuh|cpp|cu|inc|py|sh)|dev|\.ci/run")

# The words are put together here so that this file does not hold them. Other people's names stay as they are.
WORDS = [
    (re.compile("man" + "tissa", re.IGNORECASE), "significand"),
    (re.compile("(?<!_MM_)(?<!_MM_SET_)de" + "normal", re.IGNORECASE), "subnormal"),
    (re.compile("white" + "list|black" + "list", re.IGNORECASE), "a name that says what the list holds"),
    (re.compile(r"\b(TO" + "DO|FIX" + r"ME|XX" + r"X)\b"), "an issue, or the work itself"),
    (re.compile(r"(?<![\w.~])/(ro" + r"ot|ho" + r"me/\w+)/"), "a path that exists on other machines too"),
]


def judge_head(path, text):
    complaints = []
    lines = text.splitlines()
    if lines and lines[0].startswith("#!"):
        lines = lines[1:]
    if LICENSED.fullmatch(path) and not any(LICENCE in line for line in lines[:2]):
        complaints.append(f"{path}:1: the first line must be the licence line: {LICENCE}")
    if EXPLAINED.fullmatch(path):
        prose = [re.sub(r"^\s*(//+|#|/?\*+)?\s*", "", line) for line in lines[1:6]
                 if re.match(r"\s*(//|#(?!\s*(include|pragma|if|define))|/?\*|\"\"\")", line)]
        if len(" ".join(prose).split()) < 5:
            complaints.append(f"{path}:2: after the licence line a paragraph must say what the file is for")
    if path.endswith((".h", ".cuh")) and not re.search(r"^#pragma once$", text, re.MULTILINE):
        complaints.append(f"{path}: the header lacks #pragma once")
    return complaints


def judge_words(path, text):
    return [f"{path}:{number}: '{match.group()}': better {better}"
            for number, line in enumerate(text.splitlines(), 1)
            for pattern, better in WORDS for match in pattern.finditer(line)]


SOURCE = re.compile(r".*\.(h|cuh|cpp|cu|inc)")
RETURNS = re.compile(r"^[ \t]*///[ \t]*Returns\b.*\n(?:[ \t]*///.*\n)*(?P<what>[^;{]*[;{])", re.MULTILINE)
TYPE = re.compile(r"(enum|using|typedef|__extension__)\b")
# A member or variable that holds a function.
HOLDER = re.compile(r"(std::function<.*>|[^()]*\(\*\w+\)\(.*\))[^()]*$", re.DOTALL)


def judge_returns(path, text):
    """A type and a variable return nothing."""
    if not SOURCE.fullmatch(path):
        return []
    found = ((match, match["what"][:-1].split(" = ")[0].strip()) for match in RETURNS.finditer(text))
    return [f"{path}:{text.count(chr(10), 0, match.start()) + 1}: \"Returns\" on what is no function: {what.split(chr(10))[0]}"
            for match, what in found if "(" not in match["what"] or TYPE.match(what) or HOLDER.fullmatch(what)]


def judge_places(paths):
    top = {path.split("/")[0] for path in paths}
    complaints = [f"{name}: the top level has no place for it"
                  for name in sorted(top) if name not in ROOMS + TOP_LEVEL and not name.startswith(".")]
    complaints += [f"{room}/: the room is empty"
                   for room in ROOMS if not any(path.startswith(room + "/") for path in paths)]
    complaints += [f"{path}: no folder or file is called so; say what is in it"
                   for path in paths if re.search(r"(^|/)(utils?|common|misc|helpers?)(/|\.|$)", path)]
    return complaints


GOOD_HEAD = f"// {LICENCE}\n//\n// Reads and writes files of one tensor.\n#pragma once\n"
WRONG_HEADS = [
    ("lib/a.h", GOOD_HEAD.replace(LICENCE, "Apache")),
    ("lib/a.h", GOOD_HEAD.replace("#pragma once", "#ifndef A")),
    ("lib/a.h", f"// {LICENCE}\n#pragma once\n#include <string>\n#include <vector>\n#include <map>\n"),
    ("lib/a.cpp", f"// {LICENCE}\n\n#include <string>\n"),
    ("tests/a.py", "# A test of nothing in particular, without a licence.\n"),
    ("meson.build", "project('binade')\n"),
]
RIGHT_HEADS = [
    ("lib/a.h", GOOD_HEAD),
    ("dev", f"#!/usr/bin/env bash\n# {LICENCE}\n#\n# The one script of the project.\n"),
    ("lib/report/page.css", f"/* {LICENCE} */\n"),
]
WRONG_WORDS = ["the man" + "tissa", "De" + "normals", "a white" + "list", "// TO" + "DO: later", "FIX" + "ME",
               "in /ro" + "ot/binade", "cd /ho" + "me/me/binade"]
RIGHT_WORDS = ["std::numeric_limits<float>::denorm_min()", "_MM_SET_DE" + "NORMALS_ZERO_MODE", "significand",
               "tests/root/", "https://example.org/home/index.html"]
WRONG_RETURNS = ["bool flushed = false;", "struct Rows {", "enum class With { a };", "using F = std::function<int(int)>;",
                 "std::function<int()> row;", "int (*row)(int) = [](int) { return 0; };", "typedef int (*Row)();"]
RIGHT_RETURNS = ["int rows();", "int rows(int (*f)());", "struct stat status_of(int file) {", "template <class T>\nT operator+(T a, T b) {",
                 "const auto of = [](int x) {", "std::function<int()> row_of(int n);"]


def self_test():
    complaints = [f"accepted a wrong head of {path}: {text!r}"
                  for path, text in WRONG_HEADS if not judge_head(path, text)]
    complaints += [f"rejected a right head: {found}" for path, text in RIGHT_HEADS for found in judge_head(path, text)]
    complaints += [f"accepted the words {text!r}" for text in WRONG_WORDS if not judge_words("a", text)]
    complaints += [f"rejected the words {text!r}" for text in RIGHT_WORDS if judge_words("a", text)]
    complaints += [f"accepted Returns on {text!r}" for text in WRONG_RETURNS if not judge_returns("a.h", f"/// Returns a\n/// b.\n{text}\n")]
    complaints += [f"rejected Returns on {text!r}" for text in RIGHT_RETURNS if judge_returns("a.h", f"/// Returns a\n/// b.\n{text}\n")]
    house = [room + "/a.h" for room in ROOMS]
    complaints += [] if not judge_places(house + ["dev", ".gitignore"]) else ["rejected a right house"]
    complaints += [f"accepted {name}" for name in ["setup.py", "lib/utils/a.h", "lib/common.h"]
                   if not judge_places(house + [name])]
    complaints += [] if judge_places(house[1:]) else ["accepted an empty room"]
    return complaints


def main():
    complaints = self_test()
    paths = [str(path) for path in all_files()]
    complaints += judge_places(paths)
    read = 0
    for path in paths:
        text = text_of(path)
        if text is None or path == "LICENSE":
            continue
        read += 1
        complaints += judge_head(path, text)
        complaints += judge_words(path, text)
        complaints += judge_returns(path, text)
        if path == "meson.build" and text.count("\n") >= BUILD_FILE_LINES:
            complaints.append(f"{path}: {text.count(chr(10))} lines; it stays under {BUILD_FILE_LINES}")
    if read < 60:
        complaints.append(f"only {read} files were read: is this the project's root?")

    print(*complaints, sep="\n")
    print(f"{read} text files of {len(paths)} read")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
