# SPDX-License-Identifier: Apache-2.0
#
# Records products by other people's code with what `binade identify` finds in them. A library must be installed; its results
# depend on the CPU.
#   make_products.py BINADE OUT numpy|torch|eigen [EIGEN_PROGRAM]
import json
import platform
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib" / "identify"))
import library_products as library  # noqa: E402


LARGEST = 17_000  # bytes; larger ones are for the test of what is installed


def cpu():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("flags"):
            known = ("avx2", "fma", "avx512f", "avx512_bf16")
            return platform.machine() + " with " + ", ".join(x for x in known if x in line.split())
    return platform.machine()


def main(binade, out, *which):
    for x in library.products(*which):
        path = Path(out) / f"{x.name}.tensors"
        if len(library.file_of(x)) > LARGEST:
            continue
        path.write_bytes(library.file_of(x))
        words = [word for key in "abd" for word in (f"--{key}", f"{path}:{key}")]
        found = json.loads(subprocess.run([binade, "identify", "--json", *words], stdout=subprocess.PIPE).stdout)
        command = found["explain"][0]["command"].removeprefix("binade gemm ") if found["explain"] else "none"
        path.write_bytes(library.file_of(x, {"how": x.how, "cpu": cpu(), "conclusion": found["conclusion"],
                                             "command": command}))
        print(f"{path.name:<40} {path.stat().st_size:>7}  {found['conclusion']:<8} {command}")


if __name__ == "__main__":
    main(*sys.argv[1:])
