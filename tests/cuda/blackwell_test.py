# SPDX-License-Identifier: Apache-2.0
#
# nvcc as judge of what nobody here can run: cuda/blackwell.cu and cuda/scaled_instances.cu compile for every
# architecture, have each of Blackwell's Tensor Core instructions in the PTX of the architecture that has them, and ptxas takes
# it; elsewhere it has none.   blackwell_test.py SOURCE_ROOT     Exits with 77 where there is no nvcc.
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TYPES = ["e4m3", "e5m2", "e3m2", "e2m3", "e2m1"]
TCGEN05 = ["tcgen05.alloc.cta_group::1", "tcgen05.relinquish_alloc_permit.cta_group::1", "tcgen05.dealloc.cta_group::1",
           "tcgen05.commit.cta_group::1.mbarrier::arrive::one", "tcgen05.cp.cta_group::1.32x128b.warpx4",
           "tcgen05.ld.sync.aligned.32x32b.x16.b32", "tcgen05.wait::ld", "tcgen05.fence::before_thread_sync",
           "tcgen05.fence::after_thread_sync", "mbarrier.try_wait.parity"]
TCGEN05 += [f"tcgen05.mma.cta_group::1.kind::{kind} " for kind in
            ["f16", "tf32", "f8f6f4", "mxf8f6f4.block_scale.scale_vec::1X", "mxf4.block_scale.scale_vec::2X",
             "mxf4nvf4.block_scale.scale_vec::4X"]]
MMA = "mma.sync.aligned."
SCALED = [f"{MMA}m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.{a}.{b}.f32.ue8m0"
          for a in TYPES for b in TYPES]
SCALED += [f"{MMA}m16n8k64.row.col.kind::{kind}" for kind in
           ["mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
            "mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
            "mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"]]
PLAIN = [f"{MMA}m16n8k32.row.col.kind::f8f6f4.{d}.{a}.{b}.{d}" for d in ["f32", "f16"] for a in TYPES for b in TYPES
         if not {a, b} <= {"e4m3", "e5m2"}]
# Source, architecture, instructions that it must have, and what it must not have.
CASES = [("blackwell.cu", "100a", TCGEN05, r"block_scale.*ue\dm\d"), ("scaled_instances.cu", "120a", SCALED, r"tcgen05\."),
         ("blackwell.cu", "103a", TCGEN05, r"block_scale.*ue\dm\d"), ("blackwell.cu", "110a", TCGEN05, r"block_scale.*ue\dm\d"),
         ("scaled_instances.cu", "121a", SCALED, r"tcgen05\."),
         ("blackwell.cu", "90a", [], r"tcgen05\.|block_scale"), ("blackwell.cu", "80", [], r"tcgen05\.|block_scale"),
         ("mma_instances.cu", "120a", PLAIN, r"block_scale")]


def main():
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if nvcc is None:
        print("no nvcc")
        sys.exit(77)
    wrong = []
    for source, arch, wanted, unwanted in CASES:
        with tempfile.TemporaryDirectory() as folder:
            # --keep leaves the PTX that ptxas took.
            done = subprocess.run([nvcc, "-std=c++20", "-O1", "--expt-relaxed-constexpr", "-I", sys.argv[1], "-cubin",
                                   f"-arch=sm_{arch}", "--keep", "--keep-dir", folder, "-o", f"{folder}/k.cubin",
                                   str(Path(sys.argv[1]) / "cuda" / source)], capture_output=True, text=True)
            ptx = "".join(file.read_text() for file in Path(folder).glob("*.ptx"))
            if done.returncode != 0 or not os.path.exists(f"{folder}/k.cubin") or "entry" not in ptx:
                wrong.append(f"{source} for {arch}: {done.stderr.strip()[:300]}")
                continue
        wrong += [f"{source} for {arch} lacks {name}" for name in wanted if name not in ptx]
        found = re.search(unwanted, ptx)
        wrong += [f"{source} for {arch} has {found.group()}"] if found else []
    print("\n".join(wrong))
    print(f"{sum(len(case[2]) for case in CASES)} instructions in {len(CASES)} files, {len(wrong)} wrong")
    sys.exit(1 if wrong else 0)


main()
