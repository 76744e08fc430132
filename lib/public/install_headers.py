# SPDX-License-Identifier: Apache-2.0
#
# Writes the public headers into FOLDER/binade: those that are named, and all that they include of emulate and lib. Includes
# that are written from the project's root are written from <binade/…> instead:
#
#     lib/public/gemm.h      binade/gemm.h
#     lib/gemm/gemm.h        binade/gemm/gemm.h
#     emulate/format.h       binade/emulate/format.h
#
# A public header that includes a third party's header is an error. Headers that are no longer public are removed.
#
# usage: install_headers.py [--list] FOLDER SOURCE_ROOT VERSION HEADER… [--changed PATH…]
# --list prints the paths of all these headers instead. --changed is for Meson, which configures anew when one of the paths
# changed. Run as an install script of Meson, FOLDER is one of its folders, and DESTDIR counts.

import argparse
import os
import pathlib
import re
import sys

INCLUDE = re.compile(r'^#include ([<"])([^">]+)[">]', re.MULTILINE)


def public_place(path):
    """Where a header of the project lies in binade/, such as gemm/gemm.h."""
    for folder in ("lib/public/", "lib/"):
        if path.startswith(folder):
            return path.removeprefix(folder)
    return path


def public_headers(root, headers):
    """The headers and all that they need, with their texts, by their path in the project."""
    todo = [str(header.resolve().relative_to(root.resolve())) for header in headers] + ["lib/version.h"]
    found = {}
    while todo:
        path = todo.pop()
        if path in found:
            continue
        found[path] = (root / path).read_text(encoding="utf-8")
        for bracket, included in INCLUDE.findall(found[path]):
            if bracket == '"':
                todo.append(included)
            elif "/" in included or included.endswith((".h", ".hpp")):
                sys.exit(f"{path}: a public header includes <{included}>, which users may not have")
    return found


def installed_text(path, text, version):
    """A header's text as users read it."""
    text = INCLUDE.sub(lambda found: f"#include <binade/{public_place(found[2])}>" if found[1] == '"' else found[0], text)
    if path == "lib/version.h":
        numbers = "".join(f"#define BINADE_VERSION_{part} {number}\n"
                          for part, number in zip(("MAJOR", "MINOR", "PATCH"), version.split(".")))
        text = text.replace("#pragma once\n", f'#pragma once\n\n#define BINADE_VERSION "{version}"\n{numbers}')
    return text


def target_folder(folder):
    """The folder, within DESTDIR if Meson installs. A folder that is not absolute is one of the prefix."""
    if "MESON_INSTALL_PREFIX" not in os.environ:
        return pathlib.Path(folder)
    return pathlib.Path(os.environ.get("DESTDIR", "") + str(pathlib.Path(os.environ["MESON_INSTALL_PREFIX"], folder)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true")
    parser.add_argument("folder")
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("version")
    parser.add_argument("headers", type=pathlib.Path, nargs="+")
    parser.add_argument("--changed", nargs="*")
    asked = parser.parse_args()
    headers = public_headers(asked.root, asked.headers)
    if asked.list:
        print(*sorted(str(asked.root / path) for path in headers), sep="\n")
        return
    folder = target_folder(asked.folder) / "binade"
    wanted = {folder / public_place(path): installed_text(path, text, asked.version) for path, text in headers.items()}
    if len(wanted) != len(headers):
        sys.exit("two public headers have the same place")
    for old in folder.rglob("*.h"):
        if old not in wanted:
            old.unlink()
    for to, text in sorted(wanted.items()):
        if to.exists() and to.read_text(encoding="utf-8") == text:
            continue
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(text, encoding="utf-8")


main()
