# SPDX-License-Identifier: Apache-2.0
#
# Enforces that bits are lost in two places only: `project` in emulate/ and the kernels in emulate/fast/. Code of lib, cuda
# and experiments contains no idiom that rounds by itself, and takes kernels from the table. Exceptions are listed with their
# reasons; each must still be needed.

import re
import sys

from sources import all_files, text_of

ROOMS = ("lib/", "cuda/", "experiments/")
CODE = (".h", ".cuh", ".cpp", ".cu", ".inc")

# What rounds: idiom → its pattern, in code without comments and texts.
IDIOMS = {
    "a rounding function of the machine": r"\b(__builtin_)?(nearbyint|l?l?rint|roundeven|fma)[fl]?\s*\(",
    "the machine's rounding mode": r"\bfe[sg]etround\b|_MM_(SET|GET)_ROUNDING_MODE|_mm_[sg]etcsr|\bFE_TO\w+",
    "a conversion intrinsic": r"\b_mm\d*_(mask_|maskz_)?cvt\w*|\b_cvt\w+_s[hs]\b|\b__(float|double|half|int|uint)\w*2\w+\(",
    "a short type of the machine": r"\b(_Float16|__fp16|__bf16|__half|__nv_bfloat16|__nv_fp8\w*|(half|bfloat16)_t)\b|"
                                   r"\bEigen::(half|bfloat16)\b",
    "an addition of a magic number": r"\+\s*([A-Za-z]\w*)\s*\)?\s*-\s*\1\b|<<\s*51\b|"
                                     r"\b0x1\.8p\+?(23|52)\b|\b0x1p\+?(23|52)\b|"
                                     r"\b(8388608|12582912|4503599627370496|6755399441055744)\b|\b0x7FFFU?\s*\+|\+\s*0x7FFFU?\b",
    "a rest held against a half": r"\brest\w*\s*[<>=]=?\s*half(_ulp)?\b|\+\s*\(?\s*rest\w*\s*(!=\s*0\s*)?\?",
    "a sticky bit": r"\|\s*\(?\s*\w*sticky\b|\bsticky\s*(\|=|=[^=])",
    "Eigen's arithmetic": r"#include <Eigen/",
    "a twin past the table": r'#include "(emulate/fast/(?!kernels\.h")|lib/train/nearest\.h")',
}

# file → (idiom, why).
EXCEPTIONS = {
    "cuda/quantize.cuh": ("a twin past the table", "a kernel's body, an element a thread, is the twin of the twin"),
    "cuda/matmul_plan.h": ("a twin past the table", "likewise, a tile of sums a thread"),
    "cuda/comparison.h": ("a twin past the table", "counts factors of sums in a tally on the device"),
    "cuda/pool.h": ("a twin past the table", "packs operands for the device"),
    "lib/gemm/account_lanes_plan.cpp": ("a twin past the table", "takes operands apart as fused blocks do, for lanes that tell losses"),
    "lib/gemm/account_lanes_plan.h": ("a twin past the table", "the type of those lanes"),
    "lib/gemm/account_lanes.cpp": ("a twin past the table", "sums that round and tell what they lost, which no kernel does"),
    "lib/number/upper.cpp": ("a rest held against a half", "an upper bound: every operation rounds up, whatever the format"),
    "lib/number/exact_sum.cpp": ("a sticky bit", "sums of thousands of bits, wider than Exact's window, to the nearest double"),
    "lib/number/decimal.cpp": ("a sticky bit", "digits of any number into Exact, whose sticky bit it is"),
    "lib/train/ops_attention.cpp": ("a rounding function of the machine", "FFMA: one operation of binary32, the machine's own"),
    "lib/train/nearest.h": ("a twin past the table", "one number at a time, between the ops of a weight's update"),
    "lib/train/optimizer.cpp": ("a twin past the table", "likewise"),
    "lib/train/optimizers.cpp": ("a twin past the table", "likewise"),
    "lib/train/product.cpp": ("Eigen's arithmetic", "the FP32 and FP64 reference is the machine's by intent"),
}


def code_of(text):
    """The text without comments and string literals' contents, includes left whole."""
    text = re.sub(r"//[^\n]*", "", text)
    return "\n".join(line if line.lstrip().startswith("#include") else re.sub(r'"(\\.|[^"\\])*"', '""', line)
                     for line in text.split("\n"))


def idioms_in(text):
    code = code_of(text)
    return {name: found for name, pattern in IDIOMS.items() if (found := re.search(pattern, code))}


def main():
    complaints = []
    files, unused = 0, dict(EXCEPTIONS)
    for path in map(str, all_files()):
        if not path.startswith(ROOMS) or not path.endswith(CODE):
            continue
        files += 1
        for idiom, found in idioms_in(text_of(path)).items():
            allowed = EXCEPTIONS.get(path, ("",))[0] == idiom
            if allowed:
                unused.pop(path, None)
            else:
                complaints.append(f"{path}: {idiom}: {found.group(0).strip()!r}; bits are lost in project and "
                                  "emulate/fast alone")
    complaints += [f"{path}: no exception any more ({idiom})" for path, (idiom, _) in unused.items()]
    if files < 200:
        complaints.append(f"only {files} files were read: is this the project's root?")
    print(*complaints, sep="\n")
    print(f"{files} files, {len(EXCEPTIONS)} exceptions")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
