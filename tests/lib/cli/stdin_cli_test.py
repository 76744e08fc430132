# SPDX-License-Identifier: Apache-2.0
#
# "-" is standard input wherever a command reads a file: piped in or a file, it gives what the file's name gives.
# Run as stdin_cli_test.py PATH_TO_BINADE; needs Python alone.

import os
import re
import struct
import subprocess
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from cli_case import CliCase, main, read_json
from made_files import f32, npy, npz, safetensors

GEMM = ("--arch", "sm_80", "--instruction", "mma.m16n8k16.f32.f16.f16.f32")


def floats(*values):
    return npy("<f4", (len(values),), f32(*values))


def ones(rows, columns):
    return npy("<f2", (rows, columns), struct.pack("<e", 1) * rows * columns)


FILES = {"array.npy": floats(1, 2e-8, 3), "x.npz": npz(zipfile.ZIP_DEFLATED, x=floats(1, 2e-8), y=floats(4)),
         "x.safetensors": safetensors(("fc1/dW", "F32", [2], f32(1, 1e-9)))}
LAYERS = b'{"layers": [{"name": "fc1", "kind": "linear", "tokens": 64, "in": 63, "out": 10}]}'
SPEC = b'{"name": "n", "base": {"workload": "digits_mlp", "steps": 1}, "grid": {"sead": [1]}}'


class Stdin(CliCase):
    def same(self, words, data, name, renamed=lambda text: text):
        """The output of a call that reads a file, with "-" in its place and the data on standard input."""
        self.write(name, data)
        by_name = self.run_binade(*words)
        self.assertEqual(by_name.returncode, 0, by_name.stderr)
        dashed = [w.replace(name, "-") if w.startswith(name) else w for w in words]
        self.assertIn("-", "".join(dashed))
        with open(self.path(name), "rb") as file:
            for stdin in (data, file):
                out = self.run_binade(*dashed, stdin=stdin)
                self.assertEqual((out.returncode, out.stderr), (0, b""), dashed)
                self.assertEqual(out.stdout.decode(), renamed(by_name.stdout.decode()), dashed)

    def test_report_reads_every_kind(self):
        for name, data in FILES.items():
            with self.subTest(name):
                self.same(("report", name), data, name, lambda text, name=name: re.sub(r"\barray\b", "stdin", text.replace(name, "stdin")))

    def test_report_beside_files(self):
        self.write("a.npy", floats(1))
        text = self.good("report", "a.npy", "-", "--json", "-", stdin=floats(2, 3))
        self.assertEqual(read_json(text)["files"], ["stdin", "a.npy"])

    def test_quantize(self):
        self.write("x.npy", FILES["array.npy"])
        self.good("quantize", "x.npy", "named.npy", "--format", "binary16")
        self.good("quantize", "-", "piped.npy", "--format", "binary16", stdin=FILES["array.npy"])
        self.assertEqual(self.read("piped.npy"), self.read("named.npy"))

    def test_a_file_on_standard_input_is_not_written_over(self):
        self.write("x.npy", FILES["array.npy"])
        with open(self.path("x.npy"), "rb") as file:
            line = self.complaint("quantize", "-", "x.npy", "--format", "binary16", stdin=file)
        self.assertIn("the same file as IN -, which is read", line)
        self.assertEqual(self.read("x.npy"), FILES["array.npy"])

    def test_one_archive_gives_both_operands(self):
        archive = npz(zipfile.ZIP_STORED, a=ones(16, 16), b=ones(16, 8))
        self.write("x.npz", archive)
        self.good("gemm", "x.npz:a", "x.npz:b", *GEMM, "-o", "named.npy")
        self.good("gemm", "/dev/stdin:a", "/dev/stdin:b", *GEMM, "-o", "piped.npy", stdin=archive)
        self.assertEqual(self.read("piped.npy"), self.read("named.npy"))

    def test_layers(self):
        self.same(("advise", "x.json", "--arch", "sm_90"), LAYERS, "x.json")

    def test_a_sweep(self):
        line = self.complaint("sweep", "-", "-o", "out.jsonl", stdin=SPEC)
        self.assertIn("sead", line)

    def test_two_reports(self):
        self.write("x.npy", FILES["array.npy"])
        before = self.good("report", "x.npy", "--json", "-")
        self.write("before.json", before.encode())
        self.assertEqual(self.good("report", "--diff", "before.json", "-", stdin=before.encode()),
                         self.good("report", "--diff", "before.json", "before.json"))

    def test_what_is_no_file_of_tensors_is_told_of_stdin(self):
        for data, said in ((b"", "an empty file"), (b"abc", "neither .safetensors nor"),
                           (FILES["array.npy"][:-1], "truncated")):
            self.assertIn(said, self.complaint("report", "-", stdin=data))
            self.assertTrue(self.complaint("report", "-", stdin=data).startswith("binade: stdin"))

    def test_one_input_under_two_names_counts_once(self):
        self.write("x.npy", floats(1, 2))
        with open(self.path("x.npy"), "rb") as file:
            for names in (("-", "x.npy"), ("-", "/dev/stdin")):
                found = read_json(self.good("report", *names, "--json", "-", stdin=file))
                self.assertEqual(found["total"]["values"], 2, names)
        self.assertEqual(read_json(self.good("report", "-", "/dev/stdin", "--json", "-", stdin=floats(1)))["total"]
                         ["values"], 1)

    def test_closed_standard_input_is_empty_and_no_other_file(self):
        self.write("+x.npy", floats(1, 2))
        for words in ("report -", "report +x.npy -"):
            out = subprocess.run(["sh", "-c", f'exec "$0" {words} <&-', self.program], cwd=self.folder.name,
                                 capture_output=True, check=False)
            self.assertEqual((out.returncode, out.stdout), (2, b""), words)
            self.assertEqual(out.stderr, b"binade: stdin: an empty file; export it again\n")

    def test_what_a_shell_substitutes_is_read(self):
        self.write("x.npy", floats(1, 2))
        out = subprocess.run(["bash", "-c", '"$0" report <(cat x.npy) --json -', self.program], cwd=self.folder.name,
                             capture_output=True, check=False)
        self.assertEqual((out.returncode, out.stderr), (0, b""))
        self.assertEqual(read_json(out.stdout)["total"]["values"], 2)

    def test_torch_files_are_converted_by_name(self):
        line = self.complaint("report", "-", stdin=b"\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20j\xa8P\x19")
        self.assertIn("torch.load('FILE.pt'", line)

    def test_a_folder_for_temporary_files_that_is_not_there(self):
        line = self.complaint("report", "-", stdin=FILES["array.npy"], TMPDIR="/dev/null")
        self.assertIn("TMPDIR", line)

    def test_nothing_is_left_in_the_folder_for_temporary_files(self):
        os.mkdir(self.path("tmp"))
        self.good("report", "-", stdin=FILES["array.npy"], TMPDIR=self.path("tmp"))
        self.assertEqual(os.listdir(self.path("tmp")), [])


if __name__ == "__main__":
    main()
