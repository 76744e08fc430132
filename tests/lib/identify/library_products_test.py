# SPDX-License-Identifier: Apache-2.0
#
# `binade identify` on products by other people's code: those recorded in tests/recordings/products, or those that a
# library which is installed gives here and now. What it claims, `binade gemm` makes again, byte for byte; where it
# claims nothing, its nearest model really is contradicted where it says so. Recordings also say what must be found;
# a live library may use any order its CPU suggests.
#   library_products_test.py BINADE recorded FOLDER [N]      Each N-th of them, or all.
#   library_products_test.py BINADE numpy|torch|eigen [EIGEN_PROGRAM]      Exits with 77 where it is not installed.

import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).resolve().parents[2])]
import library_products as library  # noqa: E402
from made_files import parts_of_safetensors  # noqa: E402

WIDTHS = {"F8_E4M3": 1, "F8_E5M2": 1, "F16": 2, "BF16": 2, "F32": 4, "F64": 8}


class Judge:
    def __init__(self, binade, folder):
        self.binade, self.folder = binade, Path(folder)
        self.counts = {"unique": 0, "several": 0, "none": 0}

    def call(self, *words):
        return subprocess.run([self.binade, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)

    def identify(self, path):
        where = ("--arch", "sm_" + path.name.split("_")[1][2:]) if path.name.startswith("cublas_") else ()
        done = self.call("identify", "--json", "--show", "3", *where, *(word for key in "abd" for word in (f"--{key}", f"{path}:{key}")))
        out = json.loads(done.stdout)
        assert done.returncode == (1 if out["conclusion"] == "none" else 0), done
        self.counts[out["conclusion"]] += 1
        return out

    def gemm(self, arrays, command):
        """The bytes of D by a command that was told, on these (m, k) and (k, n)."""
        inputs = self.folder / "gemm.tensors"
        inputs.write_bytes(library.tensors_file(arrays, {}))
        out = self.folder / "out.safetensors"
        words = command.split()[2:]
        done = self.call("gemm", f"{inputs}:a", f"{inputs}:b", "-o", out, *words)
        assert done.returncode == 0, (command, done.stderr)
        return parts_of_safetensors(out.read_bytes())[1]

    def element(self, x, row, column, command):
        """One element, from its row and column alone."""
        width = WIDTHS[x.dtypes["a"]]
        k, (_, n) = x.shapes["a"][1], x.shapes["b"]
        a = x.data["a"][row * k * width:(row + 1) * k * width]
        width = WIDTHS[x.dtypes["b"]]
        if x.is_dots:
            b = x.data["b"][row * k * width:(row + 1) * k * width]
        else:
            b = b"".join(x.data["b"][(i * n + column) * width:(i * n + column + 1) * width] for i in range(k))
        return self.gemm({"a": (x.dtypes["a"], (1, k), a), "b": (x.dtypes["b"], (k, 1), b)}, command)

    def check_claim(self, x, command):
        if not x.is_dots:
            again = self.gemm({key: (x.dtypes[key], x.shapes[key], x.data[key]) for key in "ab"}, command)
        else:
            again = b"".join(self.element(x, row, None, command) for row in range(x.shapes["d"][0]))
        assert again == x.data["d"], (x.name, command)

    def check_rejected(self, x, rejected):
        first, width = rejected["first"], WIDTHS[x.dtypes["d"]]
        at = first["row"] if x.is_dots else first["row"] * x.shapes["d"][1] + first["column"]
        found = x.data["d"][at * width:(at + 1) * width][::-1].hex().upper()
        expected = self.element(x, first["row"], first["column"], rejected["command"])[::-1].hex().upper()
        assert (first["found"], first["expected"]) == (found, expected) and found != expected, (x.name, first)

    def judge(self, x, path):
        out = self.identify(path)
        for model in out["explain"]:
            self.check_claim(x, model["command"])
        assert (out["conclusion"] == "none") == (not out["explain"])
        self.check_rejected(x, out["rejected"][0])
        told = out["explain"][0]["command"].removeprefix("binade gemm ") if out["explain"] else "none"
        print(f"{x.name:<32} {out['conclusion']:<8} {out['explaining']:>5} of {out['models']:>5}  {told}")
        return out


def recorded(judge, folder, nth="1"):
    """Each nth product, and what its recording says must be found."""
    paths = sorted(Path(folder).glob("*.tensors"))
    assert len(paths) >= 10
    for path in paths[::int(nth)]:
        header, data = parts_of_safetensors(path.read_bytes())
        x = library.Product.__new__(library.Product)
        x.name, x.dtypes = path.stem, {key: header[key]["dtype"] for key in "abd"}
        x.shapes = {key: tuple(header[key]["shape"]) for key in "abd"}
        parts = {key: header[key]["data_offsets"] for key in "abd"}
        x.data = {key: data[begin:end] for key, (begin, end) in parts.items()}
        out = judge.judge(x, path)
        metadata = header["__metadata__"]
        assert out["conclusion"] == metadata["conclusion"], (path, out["conclusion"])
        told = [model["command"] for model in out["explain"]] + [y for model in out["explain"] for y in model["same"]]
        assert metadata["conclusion"] == "none" or f"binade gemm {metadata['command']}" in told, (path, told)


def main(binade, what, *rest):
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(binade, folder)
        if what == "recorded":
            recorded(judge, *rest)
        else:
            try:
                made = library.products(what, *rest)
            except ImportError as error:
                print(f"{error}: nothing was compared")
                return 77
            assert made
            for x in made:
                path = Path(folder) / "product.tensors"
                path.write_bytes(library.file_of(x))
                judge.judge(x, path)
        print(judge.counts)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
