# SPDX-License-Identifier: Apache-2.0
#
# Counts the sources that read headers which take longer to compile than most of our files, through any chain of our own
# headers, and fails above the numbers committed here. A change that needs one more reader raises a number; code that needs
# only names includes <nlohmann/json_fwd.hpp> or a forward declaration. The counting is first tried on a made-up tree.

import re
import sys

from sources import ROOT, all_files, text_of

# Header, by how its include begins → most sources of the program, most of the tests.
MOST = {
    r"CLI/": (1, 0),
    r"nlohmann/json\.hpp": (92, 31),
    r"Eigen/": (1, 2),
    r"(oneapi/)?tbb/": (1, 0),
    r"fmt/format\.h": (126, 2),
    r"fmt/(chrono|color|compile|os|ostream|ranges|std|xchar)\.h": (1, 0),
}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+["<]([^">]+)[">]', re.MULTILINE)


def readers(texts):
    """Header's beginning → the sources that include it, directly or through files of ours; texts: path → text."""
    direct = {path: INCLUDE.findall(text) for path, text in texts.items()}
    found = {header: [] for header in MOST}
    for source in (path for path in texts if path.endswith((".cpp", ".cu"))):
        included, open_ends = {source}, [source]
        while open_ends:
            new = set(direct.get(open_ends.pop(), [])) - included
            included |= new
            open_ends += new
        for header in MOST:
            if any(re.match(header, name) for name in included):
                found[header].append(source)
    return found


def count(texts):
    """Header → (sources of the program, sources of the tests) that read it."""
    return {header: (sum(not path.startswith("tests/") for path in paths),
                     sum(path.startswith("tests/") for path in paths)) for header, paths in readers(texts).items()}


MADE_UP = {
    "lib/a.h": "#include <CLI/CLI.hpp>\n",
    "lib/b.h": '#include "lib/a.h"\n#include <nlohmann/json_fwd.hpp>\n',
    "lib/b.cpp": '#include "lib/b.h"\n',
    "lib/c.cpp": "# include <nlohmann/json.hpp>\n",
    "tests/c_test.cpp": '#include "lib/b.h"\n#include <fmt/ranges.h>\n',
    "tests/d_test.cpp": "#include <vector>\n// #include <Eigen/Core>\n",
}
COUNTED = {r"CLI/": (1, 1), r"nlohmann/json\.hpp": (1, 0), r"Eigen/": (0, 0), r"(oneapi/)?tbb/": (0, 0),
           r"fmt/format\.h": (0, 0), r"fmt/(chrono|color|compile|os|ostream|ranges|std|xchar)\.h": (0, 1)}


def main():
    complaints = [] if count(MADE_UP) == COUNTED else [f"a made-up tree is counted wrongly: {count(MADE_UP)}"]
    texts = {path: text_of(path) for path in map(str, all_files()) if path.endswith((".h", ".cuh", ".cpp", ".cu"))}
    for header, numbers in count(texts).items():
        print(f"{header}: read by {numbers[0]} sources of the program, {numbers[1]} of the tests")
        complaints += [f"{header}: read by {number} sources of the {where}; {most} is the most"
                       for number, most, where in zip(numbers, MOST[header], ("program", "tests")) if number > most]
        if numbers == (0, 0):
            complaints.append(f"{header}: nobody reads it; is this {ROOT} the project's root?")
    print(*complaints, sep="\n")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
