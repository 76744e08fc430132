# SPDX-License-Identifier: Apache-2.0
"""A static program (./dev static) where there is nothing but it and its files: no /proc, /dev, /tmp or /etc, no library.

Each command runs in such a root, as in a container made from scratch, and outside of it. Output, exit status and the bytes
of the files that it writes must be the same. What it says of GPUs, and of standard input that is closed, is judged, too.

empty_root_test.py BINADE [OTHER]: outside runs OTHER, say an ordinary program, in the place of BINADE. Ends with 77 where the
system allows no root of one's own (unshare -r).
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

from cli_case import environment
from made_files import f32, npy, npz

SOURCES = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DATA = ("digits.csv.gz", "digits_gradients.safetensors")
PRODUCT = "numpy_matmul_f16_12x12x64.tensors"
A, B, D = (f"{PRODUCT}:{name}" for name in "abd")
HALF = ("--arch", "sm_90", "--instruction", "mma.m16n8k16.f16.f16.f16.f16")

COMMANDS = (  # each after the exit status that it ends with
    (0, "--version"),
    (0, "formats"),
    (0, "show", "0.1", "-f", "e4m3"),
    (0, "architectures", "--arch", "sm_90"),
    (0, "report", DATA[1], "-o", "page.html", "--json", "report.json", "--csv", "report.csv"),
    (0, "report", "-", "--json", "-"),
    (0, "report", "compressed.npz"),
    (0, "quantize", DATA[1], "rounded.safetensors", "--format", "e4m3", "-r", "stochastic"),
    (0, "arith", "fma", A, A, A, "fma.npy", "--format", "binary16"),
    (0, "cases", "bf16_mulAdd", "-r", "toward_zero", "-n", "1000"),
    (0, "gemm", A, B, *HALF, "-o", "d.npy", "--account", "account.html"),
    (1, "validate", "gemm", A, B, "--d", D, *HALF, "--show", "3"),
    (0, "explain", "gemm", A, B, *HALF, "--element", "3", "5"),
    (0, "identify", "--a", A, "--b", B, "--d", D, "--cpu"),
    (0, "experiment", "run", "swamping"),
    (0, "train", "workload=digits_mlp", "format=binary16", "steps=5"),
    (0, "autocast", "linear", "softmax"),
    (0, "advise", "--params", "7e9", "--memory", "80GB"),
    (0, "record", "--emulated", "sm_70", "-o", "recorded", "--only", "mma.m8n8k4.f32.f16.f16.f32", "--dots", "open"),
    (2, "show", "0.1", "-f", "nothing"),
    (2, "report", "absent.npy"),
)


class EmptyRoot(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="binade-root-")
        self.addCleanup(folder.cleanup)
        self.places = {name: os.path.join(folder.name, name) for name in ("inside", "outside")}
        for place, program in zip(self.places.values(), PROGRAMS):
            os.makedirs(f"{place}/share/binade/data")
            os.mkdir(f"{place}/bin")
            shutil.copy2(program, f"{place}/bin/binade")
            for name in DATA:
                shutil.copy(f"{SOURCES}/experiments/data/{name}", f"{place}/share/binade/data")
            shutil.copy(f"{SOURCES}/experiments/data/{DATA[1]}", place)
            shutil.copy(f"{SOURCES}/tests/recordings/products/{PRODUCT}", place)
            with open(f"{place}/compressed.npz", "wb") as file:
                file.write(npz(zipfile.ZIP_DEFLATED, x=npy("<f4", (1000,), f32(*range(1000)))))

    def run_at(self, place, words, piped=b"", closed=None):
        """The finished program; closed: a descriptor that it starts without."""
        start = ["unshare", "-r", "-R", self.places["inside"], "-w", "/", "/bin/binade"]
        if place == "outside":
            start = [f"{self.places['outside']}/bin/binade"]
        data = {} if place == "inside" else {"BINADE_DATA": f"{self.places['outside']}/share/binade/data"}
        if closed is not None:
            start = ["sh", "-c", f'exec "$@" {closed}>&-', "sh", *start]
        return subprocess.run([*start, *words], input=piped, cwd=self.places[place], capture_output=True, check=False,
                              timeout=300, env=environment(TMPDIR="/" if place == "inside" else "/tmp", **data))

    def files(self, place):
        found = {}
        for folder, _, names in os.walk(self.places[place]):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.relpath(path, self.places[place]) != "bin/binade":
                    with open(path, "rb") as file:
                        found[os.path.relpath(path, self.places[place])] = file.read()
        return found

    def test_every_command_does_there_what_it_does_elsewhere(self):
        with open(f"{SOURCES}/experiments/data/{DATA[1]}", "rb") as file:
            gradients = file.read()
        for status, *words in COMMANDS:
            with self.subTest(" ".join(words)):
                piped = gradients if words[1:2] == ["-"] else b""
                inside, outside = (self.run_at(place, words, piped) for place in self.places)
                self.assertEqual((inside.returncode, inside.stderr.decode()), (status, outside.stderr.decode()))
                self.assertEqual((outside.returncode, outside.stdout), (status, inside.stdout))
        inside, outside = map(self.files, self.places)
        self.assertEqual(inside.keys(), outside.keys())
        self.assertEqual([name for name, data in inside.items() if data != outside[name]], [], "bytes differ")

    def test_it_says_that_it_finds_no_gpu(self):
        done = self.run_at("inside", ("device",))
        self.assertEqual((done.returncode, done.stderr), (77, b""))
        self.assertRegex(done.stdout, rb"\Ano GPU: this program is static [^\n]+\n\Z")

    def test_closed_standard_input_is_empty_there_too(self):
        for place in self.places:
            done = self.run_at(place, ("report", DATA[1], "-"), closed=0)
            self.assertEqual((done.returncode, done.stdout, done.stderr),
                             (2, b"", b"binade: stdin: an empty file; export it again\n"), place)

    def test_closed_standard_output_is_an_error_there_too(self):
        for place in self.places:
            done = self.run_at(place, ("formats",), closed=1)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (2, b"", b"binade: cannot write to standard output: "
                                                                           b"it is closed; open it, or send it to a file\n"), place)


if __name__ == "__main__":
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-r", "-R", "/", "true"], capture_output=True,
                                                         check=False).returncode != 0:
        print("SKIP: this system lets its users make no root of their own (unshare -r -R)")
        sys.exit(77)
    given = [os.path.abspath(path) for path in sys.argv[1:]]
    PROGRAMS = (given[0], given[-1])
    unittest.main(argv=sys.argv[:1])
