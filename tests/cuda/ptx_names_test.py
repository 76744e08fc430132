# SPDX-License-Identifier: Apache-2.0
#
# Whoever greps cuda/ for an instruction finds the line that makes it: every PTX name that a macro of cuda/ptx_*.cuh puts
# together stands whole in the header that makes it, the Tensor Core instructions of the emulator's table stand there with
# both of their names (those with scales of blocks with PTX's alone, where there is a wrapper), and every scalar
# instruction stands in cuda/write_scalar_sources.cpp. No comment lists an instruction that is not made. Arguments: the compiler, the source root, and the programs mma_names, cvt_names and
# scalar_names, which print the tables.

import re
import subprocess
import sys
from pathlib import Path

from mma_names_test import VARIANTS

# The macros by which nvcc says for what it compiles, for targets that together have every instruction.
TARGETS = [["__CUDA_ARCH__=900", "__CUDA_ARCH_FEAT_SM90_ALL"], ["__CUDA_ARCH__=1000", "__CUDA_ARCH_SPECIFIC__=1000"],
           ["__CUDA_ARCH__=1200", "__CUDA_ARCH_SPECIFIC__=1200"]]
ASM = re.compile(r'\basm(?: volatile)?\(\s*((?:"[^"]*"\s*)+)')
PTX_NAME = re.compile(r"[a-z]\w*(?:[.:]+\w+)+")
TWO_NAMES = re.compile(r"^// ((?:w?g?mma|w?g?mma\.sp)\.m\d\S+) (\S+)$", re.MULTILINE)
SCALAR_NAMES = re.compile(r"^// ((?:[a-z]\w*(?:\.\w+)+ ?)+)$", re.MULTILINE)
OLDEST = 80  # of which cuda/ has code


def made_in(compiler, root, header):
    """The PTX names in the asm lines of a header, as the preprocessor leaves them."""
    names = set()
    for defines in TARGETS:
        command = [*compiler, "-std=c++20", "-E", "-P", "-x", "c++", "-I", root, *(f"-D{define}" for define in defines), header]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        for literals in ASM.findall(text):
            statements = "".join(re.findall(r'"([^"]*)"', literals)).strip("{}").split(";")
            names.update(found.group() for found in map(PTX_NAME.match, map(str.strip, statements)) if found)
    return names


def stands_in(text, name):
    return re.search(rf"(?<![\w.:]){re.escape(name)}(?![\w.:])", text) is not None


def pairs_of(name, ptx):
    """binade's and PTX's name of an instruction of the table and of its variants; the kernels of wgmma have n = 8."""
    if "wgmma" in name:
        name, ptx = (re.sub(r"(?<=\.m64)n\d+", "n8", x) for x in (name, ptx))
    types = re.search(r"\.m\d+n\d+k\d+\.(.*)", name).group(1)
    words = VARIANTS.get(types.split(".")[1], [])
    out = {tuple(x.replace(f".{types}", f".{word}.{types}") for x in (name, ptx)) for word in words}
    if "rn" in words:  # which binade's own name leaves out
        return {(own.replace(".rn.", "."), ptx) for own, ptx in out}
    return out | {(name, ptx), (name.replace(".and.", ".xor."), ptx.replace(".and.", ".xor."))}


def lines_of(program):
    return [line.split() for line in subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()]


def main(compiler, root, mma_names, cvt_names, scalar_names):
    complaints, count = [], 0
    listed = set()
    for header in sorted(Path(root, "cuda").glob("ptx_*.cuh")):
        text = header.read_text(encoding="utf-8")
        names = made_in(compiler.split(), root, header)
        pairs = TWO_NAMES.findall(text)
        complaints += [f"cuda/{header.name} makes {name}, which stands nowhere in it" for name in sorted(names)
                       if not stands_in(text, name)]
        complaints += [f"cuda/{header.name} lists {ptx}, which it does not make" for _, ptx in pairs if ptx not in names]
        listed.update(pairs)
        count += len(names)
    expected = set()
    for sm, name, ptx in (line[:3] for line in lines_of(mma_names)):
        if int(sm.rstrip("a")) >= OLDEST and not name.startswith("tcgen05") and ".block_scale." not in name:
            expected |= pairs_of(name, ptx)
    complaints += [f"cuda/ptx_*.cuh lacks the line '// {name} {ptx}'" for name, ptx in sorted(expected - listed)]
    complaints += [f"cuda/ptx_*.cuh has '// {name} {ptx}', which the table lacks" for name, ptx in sorted(listed - expected)]

    scalars = {line[0] for program in (cvt_names, scalar_names) for line in lines_of(program)}
    text = Path(root, "cuda", "write_scalar_sources.cpp").read_text(encoding="utf-8")
    written = set(" ".join(SCALAR_NAMES.findall(text)).split())
    complaints += [f"cuda/write_scalar_sources.cpp does not list {name}" for name in sorted(scalars - written)]
    complaints += [f"cuda/write_scalar_sources.cpp lists {name}, which no table has" for name in sorted(written - scalars)]
    print(*complaints[:40], sep="\n")
    print(f"{count} PTX names of macros, {len(expected)} Tensor Core and {len(scalars)} scalar instructions, "
          f"{len(complaints)} complaints")
    return 1 if complaints or count < 200 or len(expected) < 150 or len(scalars) < 500 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
