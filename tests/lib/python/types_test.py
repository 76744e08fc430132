# SPDX-License-Identifier: Apache-2.0
#
# The package as a type checker sees it: mypy over a program that uses it well, which passes, and over lines that use it
# wrongly, each of which is found. Skipped where there is no mypy. Run as types_test.py PATH_TO_BINADE.

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

import binade

FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(binade.__file__)))
GOOD = """
import numpy as np

import binade

x = np.linspace(0, 1, 8, dtype=np.float32)
e4m3 = binade.Format("e4m3")
bits: int = e4m3.bits
names: list[str] = [str(one) for one in binade.formats()]
binade.quantize(x, e4m3, rounding="ties_to_even", saturation="finite")
binade.decode(binade.encode(x, "binary16"), "binary16")
binade.arith("fma", x, x, x, format="e4m3")
model = binade.GemmModel("fma.rn.f32.f32.f32.f32", k_order="descending")
binade.gemm(x, x, model=model, transpose_b=True)
binade.gemm(x, x, instruction="fma.rn.f32.f32.f32.f32", promote_every=4, split=["2", "4"], out_format=e4m3)
binade.explain(x, x, instruction="fma.rn.f32.f32.f32.f32", element=(0, 0), c_first=True)
loss: object = binade.RangeSummary().add(x).scaled(-4).becomes(e4m3, scale_log2=2)["lost_l2"]
counts: binade.Counts = binade.Counts() + binade.Counts()
values: int = counts.values
status: int = binade.main(["--version"])
version: str = binade.__version__
"""
WRONG = {
    'binade.quantise([1.0], "e4m3")': "quantise",
    'binade.quantize([1.0], "e4m3", rounding=3)': "quantize",
    'binade.quantize([1.0], "e4m3", "ties_to_even")': "quantize",
    'binade.quantize([1.0])': "quantize",
    'binade.Format("e4m3").no_such': "no_such",
    "binade.gemm([1.0], [1.0], model=3)": "gemm",
    'binade.gemm([1.0], [1.0], k_ordr="descending")': "k_ordr",
    'binade.dot([1.0], [1.0], k_order="descending")': "k_order",
    "binade.RangeSummary().scaled(0.5)": "scaled",
    "binade.main(3)": "main",
}


def checked(folder, text):
    """mypy's status and what it says of these lines."""
    path = os.path.join(folder, "example.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    if "site-packages" not in FOLDER:
        environment["MYPYPATH"] = FOLDER
    result = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", os.path.join(folder, "cache"), "example.py"],
                            cwd=folder, env=environment, capture_output=True, check=False, timeout=300)
    return result.returncode, (result.stdout + result.stderr).decode()


class Types(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="binade-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_right_calls_pass(self):
        self.assertEqual(checked(self.folder, GOOD), (0, "Success: no issues found in 1 source file\n"))

    def test_wrong_calls_are_found(self):
        status, said = checked(self.folder, "import binade\n" + "\n".join(WRONG) + "\n")
        self.assertEqual(status, 1, said)
        for number, (line, word) in enumerate(WRONG.items(), 2):
            of_line = [one for one in said.splitlines() if one.startswith(f"example.py:{number}: error: ")]
            self.assertTrue(any(word in one for one in of_line), (line, said))


if __name__ == "__main__":
    if importlib.util.find_spec("mypy") is None:
        print(f"skipped: no mypy in {sys.executable}; ./dev setup installs it into .venv")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
