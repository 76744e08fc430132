# SPDX-License-Identifier: Apache-2.0
#
# Every header of emulate, lib and experiments compiles by itself: headers_compile_test.py COMPILER [FLAG…]. Two broken
# headers must fail first. A header that some source of the build, or another header, includes before anything else is known
# to compile; the others are compiled here. A header that needs a package which this machine lacks is named and left out.

import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

from sources import ROOT, all_files, text_of

ROOMS = ("emulate/", "lib/", "experiments/")
BROKEN = {
    "needs <vector>": "#pragma once\ninline std::vector<int> f() { return {}; }\n",
    "is no C++": "#pragma once\nint f( {\n",
}
FIRST_INCLUDE = re.compile(r'^#include\s+["<]([^">]+)[">]', re.MULTILINE)
ABSENT = re.compile(r"fatal error: '?([^':]+)'?(?:: No such file or directory| file not found)")


def compile_alone(command, include, folder=None):
    """Compiles a source that includes only this header; returns the compiler's complaints, '' if there are none."""
    flags = [f"-I{folder}"] if folder else []
    result = subprocess.run(
        [*command, *flags, f"-I{ROOT}", "-std=c++20", "-fsyntax-only", "-x", "c++", "-"],
        input=f'#include "{include}"\n#include "{include}"\n', text=True, capture_output=True, check=False)
    return result.stderr if result.returncode else ""


def first_in_a_source():
    """Headers that a source or header which is compiled in any case includes first."""
    found = (FIRST_INCLUDE.search(text_of(path)) for path in map(str, all_files())
             if path.endswith(".cpp") and path.startswith((*ROOMS, "tests/")) or path.endswith(".h") and path.startswith(ROOMS))
    return {match.group(1) for match in found if match}


def main(command):
    if not command:
        print("usage: headers_compile_test.py COMPILER [FLAG…]")
        return 2
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for name, text in BROKEN.items():
            with open(os.path.join(folder, "broken.h"), "w", encoding="utf-8") as file:
                file.write(text)
            if not compile_alone(command, "broken.h", folder):
                failed.append(f"a header that {name} compiled")

    all_headers = [path for path in map(str, all_files()) if path.endswith(".h") and path.startswith(ROOMS)]
    known = first_in_a_source()
    headers = [path for path in all_headers if path not in known]
    left_out = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, complaints in zip(headers, pool.map(lambda path: compile_alone(command, path), headers)):
            absent = ABSENT.search(complaints)
            if absent and not absent.group(1).startswith(ROOMS):
                print(f"{path}: left out, <{absent.group(1)}> is not on this machine")
                left_out += 1
            elif complaints:
                failed.append(f"{path}:\n{complaints}")
    if len(headers) - left_out < 15:
        failed.append(f"only {len(headers) - left_out} headers were compiled")

    print(*failed, sep="\n")
    print(f"{len(headers) - left_out} headers compiled alone, {len(all_headers) - len(headers)} first in a source")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
