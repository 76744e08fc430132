# SPDX-License-Identifier: Apache-2.0
#
# No kernel may hold a trap that its source does not ask for: nvcc 13 turns a reference to a constexpr object that does not
# exist on the device (emulate/format.h, BINADE_CONSTANT) into a null pointer and a trap, without a word, and a call of a
# builtin that a device lacks into nothing (emulate/leading_zeros.h). Arguments: the project's root, then sources that compile emulate/ for the device. Exits with 77 where there is no nvcc.
import concurrent.futures
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def ptx_of(nvcc, root, source, folder):
    out = Path(folder) / (Path(source).name + ".ptx")
    subprocess.run([nvcc, "-std=c++20", "-O3", "--fmad=false", "--expt-relaxed-constexpr", "-arch=sm_90a", "-ptx", "-I", root,
                    "-o", str(out), source], check=True)
    return out.read_text()


def main():
    root, *sources = sys.argv[1:]
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if nvcc is None:
        print("no nvcc")
        sys.exit(77)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        texts = list(pool.map(lambda source: ptx_of(nvcc, root, source, folder), sources))
    for source, text in zip(sources, texts):
        kernels = text.count(".entry")
        asked = kernels if "__trap()" in Path(source).read_text() else 0  # one in each kernel of such a source
        found = text.count("trap;")
        print(f"{Path(source).name}: {kernels} kernels, {found} traps, {asked} asked for")
        wrong += found != asked or kernels == 0
        if Path(source).name == "emulated_dot.cu":  # rounding counts leading zeros of 64 bits (emulate/leading_zeros.h)
            counted = text.count("clz.b64")
            print(f"  {counted} counts of leading zeros")
            wrong += counted == 0
    sys.exit(1 if wrong or not sources else 0)


main()
