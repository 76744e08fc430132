# SPDX-License-Identifier: Apache-2.0
#
# The written sources of the scalar instructions, as the preprocessor leaves them for every target: a target's code has
# exactly the instructions that the project's lists give it, each in one asm line, and the number of each in the list
# leads to it with all its operands in PTX's order. Arguments: the compiler, the programs that print the lists, the
# sources.

import re
import subprocess
import sys

from cvt_names_test import TARGETS, has

WRAPPER = re.compile(r"__device__ (?:BINADE_OUT_OF_LINE )?inline std::uint(\d+)_t (\w+)\(([^)]*)\) \{(.*?)return [^;]*;\s*\}", re.DOTALL)
ASM = re.compile(r'asm(?: volatile)?\("([^"]*)"\s*:\s*(?:"=(\w)"\(d\))?\s*:\s*(.*?)\);', re.DOTALL)
CASE = re.compile(r"case (\d+): return (\w+)\(([^;]*)\);")
REGISTER = {"16": "h", "32": "r", "64": "l"}


def preprocessed(compiler, text, target):
    sm, suffix = int(target.rstrip("af")), target.lstrip("0123456789")
    defines = [f"-D__CUDA_ARCH__={10 * sm}"]
    defines += [f"-D__CUDA_ARCH_FAMILY_SPECIFIC__={10 * sm}"] if suffix else []
    defines += [f"-D__CUDA_ARCH_SPECIFIC__={10 * sm}"] if suffix == "a" else []
    text = re.sub(r"^#include.*$", "", text, flags=re.MULTILINE)
    return subprocess.run([*compiler, "-E", "-P", *defines, "-x", "c++", "-"], input=text, capture_output=True, text=True,
                          check=True).stdout


def instruction_of(name, result, parameters, body):
    """The PTX name of a wrapper whose asm line takes all parameters in order, or a complaint."""
    lines = ASM.findall(body)
    if len(lines) != 1:
        return f"{name}: {len(lines)} asm lines"
    text, output, inputs = lines[0]
    types = re.findall(r"std::uint(\d+)_t (\w)", parameters)
    ptx = re.search(r"[a-z0-9]+(\.[a-zA-Z0-9]+)+(?= (%|t\b|\[))", re.sub(r"^\{ \.reg \.b8 t; (cvt\.u8\.u16 t, %1; )?", "", text))
    if not ptx:
        return f"{name}: no instruction in {text!r}"
    if "red_" in name:
        right = '"b"' not in inputs and inputs.endswith(f'"{REGISTER[types[1][0]]}"(b) : "memory"') and "= a;" in body
    else:
        wanted = ", ".join(f'"{REGISTER[bits]}"({letter})' for bits, letter in types)
        places = re.findall(r"%(\d)", text.replace("cvt.u16.u8 %0, t", ""))
        right = inputs == wanted and output == REGISTER[result] and \
            sorted(set(places) | {"0"}) == [str(i) for i in range(len(types) + 1)] and places == sorted(places)
        right = right or "cvt.u8.u16 t, %1" in text and inputs == wanted and places == ["1", "0"]
    return ptx.group(0) if right else f"{name}: operands {inputs!r} of {text!r}"


def main(compiler, cvt_names, scalar_names, *sources):
    lines = [line.split() for program in (cvt_names, scalar_names)
             for line in subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()]
    numbers = {line[0]: number for number, line in enumerate(lines)}
    lowest = {line[0]: line[1] for line in lines}
    texts = []
    for source in sources:
        with open(source, encoding="utf-8") as file:
            texts.append(file.read())
    complaints, seen = [], 0
    for target in TARGETS:
        found = {}
        for text in texts:
            code = preprocessed(compiler.split(), text, target)
            wrappers = {name: instruction_of(name, result, parameters, body)
                        for result, name, parameters, body in WRAPPER.findall(code)}
            cases = CASE.findall(code)
            complaints += [f"sm_{target}: {name} is no wrapper" for _, name, _ in cases if name not in wrappers]
            for number, name, arguments in cases:
                if re.findall(r"x\[(\d)\]", arguments) != [str(i) for i in range(arguments.count("x["))]:
                    complaints.append(f"sm_{target}: {name}({arguments})")
                found[wrappers.get(name)] = int(number)
            if len(wrappers) != len(cases):
                complaints.append(f"sm_{target}: {len(wrappers)} wrappers, {len(cases)} cases")
        expected = {name: numbers[name] for name in numbers if has(target, lowest[name])}
        complaints += [f"sm_{target}: {name}: number {found.get(name)}, not {expected.get(name)}"
                       for name in found.keys() | expected.keys() if found.get(name) != expected.get(name)]
        seen += len(found)
    print(*complaints[:40], sep="\n")
    print(f"{len(lines)} instructions, {seen} wrappers of {len(TARGETS)} targets, {len(complaints)} complaints")
    return 1 if complaints or seen < 5000 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
