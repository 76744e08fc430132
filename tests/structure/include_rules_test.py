# SPDX-License-Identifier: Apache-2.0
#
# Enforces which folders may include which: the rooms, the floors inside lib, and where third parties' headers may be
# included. Every include of a header of ours is written from the project's root and exists. So do Python's imports in
# the package: its folders stand on floors, too, and no circle is among its modules. The rules are the tables below.

import ast
import pathlib
import re
import sys

from sources import ROOT, all_files, levels_of_vectors, text_of

# Place → the places of ours it may include besides itself. The longest place that holds a file is the file's place.
BELOW_LIB = ["emulate"]
TEXT = BELOW_LIB + ["lib/version.h", "lib/text", "lib/parallel"]
NUMBER = TEXT + ["lib/number", "lib/format", "lib/page"]
IO = NUMBER + ["lib/io", "lib/range"]
INSTRUCTION = IO + ["lib/block", "lib/scales", "lib/instruction", "lib/testfloat"]
DEVICE = INSTRUCTION + ["lib/cases", "lib/device", "lib/amp"]
EVIDENCE = DEVICE + ["lib/evidence"]
GEMM = EVIDENCE + ["lib/gemm"]
REPORT = GEMM + ["lib/report"]
EXPLAIN = REPORT + ["lib/explain"]
VALIDATE = EXPLAIN + ["lib/validate", "lib/identify", "lib/train"]
RUNS = VALIDATE + ["lib/runs"]
MAY_INCLUDE = {
    "emulate": [],
    "lib/version.h": [],
    "lib/program.h": [],
    "lib/text": BELOW_LIB,
    "lib/parallel": BELOW_LIB + ["lib/text"],  # for the one exception type
    "lib/number": TEXT,
    "lib/format": TEXT,
    "lib/page": TEXT,
    "lib/io": NUMBER,
    "lib/range": NUMBER,
    "lib/block": IO,
    "lib/scales": IO + ["lib/block"],
    "lib/amp": IO,
    "lib/instruction": IO,
    "lib/testfloat": IO,
    "lib/cases": INSTRUCTION,
    "lib/device": INSTRUCTION + ["lib/cases"],
    "lib/evidence": DEVICE,
    "lib/gemm": EVIDENCE,
    "lib/report": GEMM,
    "lib/explain": REPORT,
    "lib/validate": EXPLAIN + ["lib/identify"],
    "lib/identify": EXPLAIN,
    "lib/train": REPORT,
    "lib/public": VALIDATE,
    "lib/runs": VALIDATE,
    "lib/cli": RUNS + ["lib/program.h"],
    "lib/python": RUNS + ["lib/program.h"],
    "cuda": ["emulate", "lib/cases", "lib/device", "lib/instruction"],
    "experiments": ["emulate", "lib"],
    "tests": ["emulate", "lib", "cuda", "experiments"],
}

# The folders of the Python package in the same way: folder → those whose modules its own may import besides each other.
PACKAGE = "lib/python/binade"
OBSERVE = [PACKAGE, f"{PACKAGE}/torch/observe"]
WATCHED = [f"{PACKAGE}/torch/watch/{folder}" for folder in ("values", "loop", "weights")]  # each stands on those before it
PRODUCTS = OBSERVE + [f"{PACKAGE}/torch/products"]
CHECK = PRODUCTS + [f"{PACKAGE}/torch/check"]
MAY_IMPORT = {
    PACKAGE: [],
    f"{PACKAGE}/torch/observe": [PACKAGE],
    **{folder: OBSERVE + WATCHED[:at] for at, folder in enumerate(WATCHED)},
    f"{PACKAGE}/torch/watch": OBSERVE + WATCHED,
    f"{PACKAGE}/torch/scaling": OBSERVE,
    f"{PACKAGE}/torch/products": OBSERVE,
    f"{PACKAGE}/torch/check": PRODUCTS,
    f"{PACKAGE}/torch/variance": CHECK,
    f"{PACKAGE}/torch": CHECK + WATCHED + [f"{PACKAGE}/torch/{folder}" for folder in ("variance", "watch", "scaling")],
}
EXTENSION = f"{PACKAGE}/_binade"  # written in C++; it imports no module of Python's

# Third party, by how its includes begin → where it may be included, and in files of which names.
THIRD_PARTIES = [
    (r"immintrin\.h", ["emulate"], rf"emulate/fast/({'|'.join(levels_of_vectors())})\.h"),
    (r"([ix]mmintrin|cpuid)\.h", ["tests"], r".*"),
    (r"simde/", ["tests/kernels"], r".*"),
    (r"cpuid\.h", ["lib/parallel"], r".*"),
    (r"Eigen/", ["lib/train", "tests"], r".*"),
    (r"boost/", ["tests"], r".*"),
    (r"(gmp|gmpxx|mpfr)\.h", ["tests"], r".*"),
    (r"doctest/", ["tests"], r".*"),
    (r"benchmark/", ["tests/bench"], r".*"),
    (r"(oneapi/)?tbb/", ["lib/parallel"], r".*"),
    (r"CLI/", ["lib/cli"], r"lib/cli/parser\.cpp"),
    (r"(nanobind/.*|Python\.h)", ["lib/python"], r".*"),
    (r"nlohmann/", ["lib", "tests"], r".*"),
    (r"fmt/", ["lib", "experiments", "tests"], r".*"),
    (r"re2/", ["lib/report"], r"lib/report/name_pattern\.cpp"),
    (r"(zlib|zip)\.h", ["lib/io", "tests"], r".*"),
    (r"binade/", ["tests/lib/public"], r".*"),  # as users include what was installed
    (r"(cuda|cublas|mma|nv_|cooperative_groups)[a-zA-Z0-9_/]*(\.h|\.hpp)?", ["cuda", "tests"], r".*"),
    (r"(sys/[a-z]+|unistd|dirent|fcntl|pthread|dlfcn|elf|glob|fnmatch|signal|ucontext|cxxabi)\.h", ["lib", "cuda", "tests"], r".*"),
]

STANDARD = set("""
algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes
climits clocale cmath codecvt compare complex concepts condition_variable coroutine csetjmp csignal cstdarg
cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar cwctype deque exception execution filesystem format
forward_list fstream functional future initializer_list iomanip ios iosfwd iostream istream iterator latch
limits list locale map memory memory_resource mutex new numbers numeric optional ostream queue random ranges
ratio regex scoped_allocator semaphore set shared_mutex source_location span sstream stack stdexcept
stop_token streambuf string string_view strstream syncstream system_error thread tuple type_traits typeindex
typeinfo unordered_map unordered_set utility valarray variant vector version
""".split())

CODE = (".h", ".cuh", ".cpp", ".cu", ".inc")
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]+(\S.*?)[ \t]*(?://.*|/\*.*)?$", re.MULTILINE)


def is_inside(path, place):
    return path == place or path.startswith(place + "/")


def place_of(path):
    """The place that rules a file: the longest key of MAY_INCLUDE above it, or None."""
    return max((place for place in MAY_INCLUDE if is_inside(path, place)), key=len, default=None)


def judge_ours(path, target, exists):
    place = place_of(path)
    if not exists(target):
        return f'includes "{target}", which is no file from the project\'s root'
    if not any(is_inside(target, other) for other in [place, *MAY_INCLUDE[place]]):
        return f'includes "{target}": {place} may include only {", ".join(MAY_INCLUDE[place]) or "itself"}'
    return None


def judge_theirs(path, target):
    if target in STANDARD:
        return None
    rows = [row for row in THIRD_PARTIES if re.match(row[0], target)]
    if not rows:
        return f"includes <{target}>, which is neither a C++ standard header nor a third party of ours"
    if not any(is_inside(path, place) and re.fullmatch(name, path) for _, places, name in rows for place in places):
        places = sorted({place for row in rows for place in row[1]})
        return f"includes <{target}>, which belongs to {', '.join(places)}"
    return None


# libstdc++ writes them with builtins of which a device has not all; nvcc says nothing and gives a constant.
BITS = re.compile(r"std::(countl_zero|countl_one|countr_zero|countr_one|popcount|bit_width|bit_ceil|bit_floor|"
                  r"has_single_bit|rotl|rotr|byteswap)\b")


def judge_bits(path, text):
    """The complaints about functions of <bit> that kernels may not call, in code that kernels are made of."""
    if not is_inside(path, "emulate") and not is_inside(path, "cuda") or path == "emulate/leading_zeros.h":
        return []
    code = re.sub(r"//.*", "", text)
    return [f"{path}: {found.group(0)} is a constant on a device (nvcc 13.0); see emulate/leading_zeros.h"
            for found in BITS.finditer(code)]


def judge(path, text, exists):
    """The complaints about one file's includes, and how many includes it has."""
    if place_of(path) is None:
        return [f"{path}: C++ outside the rooms and floors"], 0
    complaints, count = judge_bits(path, text), 0
    for match in INCLUDE.finditer(text):
        count += 1
        what = match.group(1)
        line = text.count("\n", 0, match.start()) + 1
        if re.fullmatch(r'"[^"]+"', what):
            complaint = judge_ours(path, what[1:-1], exists)
        elif re.fullmatch(r"<[^>]+>", what):
            complaint = judge_theirs(path, what[1:-1])
        else:
            complaint = f"includes {what}: neither a file nor a header"
        if complaint:
            complaints.append(f"{path}:{line}: {complaint}")
    return complaints, count


def module_of(name, exists):
    """The file of a module or package, named by its path without an ending; None if there is none."""
    return next((path for path in (f"{name}.py", f"{name}/__init__.py") if exists(path)), None)


def imports_of(path, text, exists):
    """(line, words, file) of each module of the package that a file of it imports, wherever in the file; None as the file where
    there is no such module. That a module is imported after the packages around it is left out: it takes nothing from them."""
    def file_of(name, line, words):
        return line, words, EXTENSION if name == EXTENSION else module_of(name, exists)

    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            for name in [x.name for x in node.names if x.name.split(".")[0] == "binade"]:
                yield file_of("lib/python/" + name.replace(".", "/"), node.lineno, name)
        elif isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").split(".")[0] == "binade"):
            above = pathlib.PurePosixPath(path).parts[:-node.level] if node.level else ("lib", "python")
            base, words = "/".join([*above, *(node.module or "").split(".")]).rstrip("/"), "." * node.level + (node.module or "")
            for name in [f"{base}/{x.name}" for x in node.names]:
                is_module = name == EXTENSION or module_of(name, exists)
                yield file_of(name if is_module else base, node.lineno, words)


def judge_python(path, text, exists):
    """The complaints about one file's imports, and the files that it imports."""
    place = str(pathlib.PurePosixPath(path).parent)
    if place not in MAY_IMPORT:
        return [f"{path}: Python outside the package's floors"], set()
    complaints, files = [], set()
    for line, words, file in imports_of(path, text, exists):
        if file is None or not is_inside(file, PACKAGE):
            complaints.append(f"{path}:{line}: imports {words}, which is no module of the package")
        elif str(pathlib.PurePosixPath(file).parent) not in [place, *MAY_IMPORT[place]]:
            below = ", ".join(MAY_IMPORT[place]) or "itself"
            complaints.append(f"{path}:{line}: imports {words}: {place} may import only {below}")
        else:
            files.add(file)
    return complaints, files


def circles(imported):
    """The complaints about circles. imported: for each file the files that it imports, also inside of functions."""
    complaints, done = [], set()

    def visit(path, above):
        if path in above:
            complaints.append("a circle of imports: " + " → ".join([*above[above.index(path):], path]))
        elif path not in done:
            for target in sorted(imported.get(path, ())):
                visit(target, [*above, path])
            done.add(path)

    for path in sorted(imported):
        visit(path, [])
    return complaints


def judge_package(texts, exists):
    """The complaints about all files of the package, {path: text}, and how many imports they have."""
    complaints, imported = [], {}
    for path, text in texts.items():
        found, imported[path] = judge_python(path, text, exists)
        complaints += found
    return complaints + circles(imported), sum(map(len, imported.values()))


def main():
    complaints = []
    files = [path for path in map(str, all_files()) if path.endswith(CODE)]
    includes = 0
    for path in files:
        found, count = judge(path, text_of(path), lambda target: (ROOT / target).is_file() and ".." not in target)
        complaints += found
        includes += count
    if len(files) < 50 or includes < 200:
        complaints.append(f"only {len(files)} files with {includes} includes were read: is this the project's root?")
    modules = {path: text_of(path) for path in map(str, all_files()) if is_inside(path, PACKAGE) and path.endswith(".py")}
    found, imports = judge_package(modules, modules.__contains__)
    complaints += found
    if len(modules) < 50 or imports < 100:
        complaints.append(f"only {len(modules)} modules with {imports} imports were read: is this the project's root?")

    print(*complaints, sep="\n")
    print(f"{includes} includes in {len(files)} files, {imports} imports in {len(modules)} modules")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
