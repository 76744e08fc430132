# SPDX-License-Identifier: Apache-2.0
#
# Enforces the rules for every file: the licence line and a paragraph at its head, `#pragma once` in headers, words that are
# not used, "Returns" on functions alone, no other files at the top level, no empty room.

import re
import sys

from sources import all_files, text_of

ROOMS = ["lib", "cuda", "emulate", "experiments", "tests", "notebooks"]
TOP_LEVEL = ["meson.build", "meson_options.txt", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "pyproject.toml",
             "dev"]
BUILD_FILE_LINES = 100
BUILD_FILE_COLUMNS = 128  # of every meson.build; clang-format holds C++ and CUDA to theirs

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


def main():
    paths = [str(path) for path in all_files()]
    complaints = judge_places(paths)
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
        if path.endswith("meson.build"):
            complaints += [f"{path}:{number}: {len(line)} columns; break it at {BUILD_FILE_COLUMNS}"
                           for number, line in enumerate(text.splitlines(), 1) if len(line) > BUILD_FILE_COLUMNS]
    if read < 60:
        complaints.append(f"only {read} files were read: is this the project's root?")

    print(*complaints, sep="\n")
    print(f"{read} text files of {len(paths)} read")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
