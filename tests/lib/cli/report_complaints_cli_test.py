# SPDX-License-Identifier: Apache-2.0
#
# What `binade report` refuses: bad files, options, environments and places to write, each in one line.
# Run as report_complaints_cli_test.py PATH_TO_BINADE; needs Python only.

import os
import struct
import subprocess
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from cli_case import CliCase, main
from made_files import f32, npy, npz, safetensors


class BadInput(CliCase):
    def test_each_bad_file_gets_one_line_that_names_it(self):
        whole = safetensors(("w", "F32", [1000], bytes(4000)))
        bad_crc = bytearray(npz(zipfile.ZIP_STORED, a=npy("<f4", (100,), bytes(400))))
        bad_crc[200] ^= 1
        cases = {
            "truncated.safetensors": (whole[:-1], "truncated|promises"),
            "cut-header.safetensors": (whole[:20], "header"),
            "bomb.safetensors": (struct.pack("<Q", 1 << 60) + b"{}", "header"),
            "no-json.safetensors": (struct.pack("<Q", 8) + b"nonsense", "header|JSON|byte 8"),
            "overlap.safetensors": (struct.pack("<Q", 120) + (
                b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},'
                b'"b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}}').ljust(120) + bytes(6), "overlap|gap|offset"),
            "unknown.safetensors": (safetensors(("w", "F3", [1], bytes(4))), "F3"),
            "truncated.npy": (npy("<f4", (1000,), bytes(3999)), "truncated|promises"),
            "object.npy": (npy("|O", (1,), bytes(8)), r"\|O|object"),
            "ints.npy": (npy("<i8", (1,), bytes(8)), "no floating-point tensor"),
            "checksum.npz": (bytes(bad_crc), "check|CRC|crc"),
            "truncated.npz": (npz(zipfile.ZIP_DEFLATED, a=npy("<f4", (1000,), bytes(4000)))[:-30], "zip|end|truncated"),
            "empty.npy": (b"", "empty|not a|truncated"),
            "text.npy": (b"hello, world\n" * 10, "not|neither"),
        }
        for name, (data, words) in cases.items():
            with self.subTest(name):
                self.write(name, data)
                line = self.complaint("report", name, "--json", "out.json", "-o", "out.html")
                self.assertIn(name, line)
                self.assertRegex(line, words)

    def test_a_raw_array_without_dtype_asks_for_it(self):
        self.write("raw.npy", npy("|V2", (4,), bytes(8)))
        self.assertIn("--dtype", self.complaint("report", "raw.npy"))

    def test_missing_files_and_globs_without_a_match(self):
        self.assertIn("absent.npy", self.complaint("report", "absent.npy"))
        self.assertIn("*.nothing", self.complaint("report", "*.nothing"))
        os.mkdir(self.path("folder.npy"))
        self.assertIn("folder.npy", self.complaint("report", "folder.npy"))

    def test_one_bad_file_among_good_ones_is_an_error_and_writes_nothing(self):
        self.write("good.npy", npy("<f4", (1,), f32(1)))
        self.write("bad.npy", npy("<f4", (2,), f32(1)))
        self.assertIn("bad.npy", self.complaint("report", "good.npy", "bad.npy", "--json", "r.json"))

    def test_a_wrong_option_is_named(self):
        self.write("a.npy", npy("<f4", (1,), f32(1)))
        self.complaints({
            (): "(?i)subcommand",
            ("frobnicate",): "no command 'frobnicate'",
            ("repor", "a.npy"): "did you mean report",
            ("report",): "FILE",
            ("report", "a.npy", "--frobnicate"): "frobnicate",
            ("report", "a.npy", "--formats", "binary17"): "binary17.*binary16",
            ("report", "a.npy", "--formats", "e2m1"): "e2m1.*binade quantize",
            ("report", "a.npy", "--dtype", "float17"): "float17",
            ("report", "a.npy", "--headroom", "-1"): "headroom",
            ("report", "a.npy", "--headroom", "x"): "headroom",
            ("report", "a.npy", "--target-loss", "1"): "target-loss",
            ("report", "a.npy", "--target-loss", "nan"): "target-loss",
            ("report", "a.npy", "--prefer", "middle"): "prefer",
            ("report", "a.npy", "--sqnr-scale", "128"): "sqnr-scale",
            ("report", "a.npy", "--sqnr-scale", "1,2,3"): "sqnr-scale",
            ("report", "--diff", "a.npy"): "two reports",
        })

    def test_a_wrong_environment_is_named(self):
        self.write("a.npy", npy("<f4", (1,), f32(1)))
        self.assertIn("BINADE_THREADS=0", self.complaint("report", "a.npy", BINADE_THREADS="0"))
        self.assertIn("BINADE_ISA=mmx", self.complaint("report", "a.npy", BINADE_ISA="mmx"))

    def test_an_output_that_cannot_be_written_is_an_error(self):
        self.write("a.npy", npy("<f4", (1,), f32(1)))
        os.mkdir(self.path("folder"))
        for option in ["--json", "-o"]:
            self.assertIn("absent/r", self.complaint("report", "-q", "a.npy", option, "absent/r"))
            self.assertIn("folder", self.complaint("report", "-q", "a.npy", option, "folder"))

    def test_a_full_disk_behind_stdout_is_an_error(self):
        self.write("a.npy", npy("<f4", (1,), f32(1)))
        for arguments in [["report", "a.npy"], ["report", "a.npy", "--json", "-"], ["report", "a.npy", "--csv", "-"],
                          ["formats"], ["architectures"], ["cases", "f16_add"], ["experiment", "list"],
                          ["experiment", "run", "swamping", "--quick"]]:
            with self.subTest(arguments), open("/dev/full", "wb") as full:
                result = subprocess.run([self.program, *arguments], cwd=self.folder.name, stdout=full,
                                        stderr=subprocess.PIPE, check=False, timeout=60)
                self.assertEqual(result.returncode, 2)
                self.assertEqual(result.stderr, b"binade: cannot write to standard output: No space left on device; "
                                                b"make room, or try again\n")

    def without(self, closed, words):
        """What the program gives that starts without the descriptors of the shell's redirections `closed`."""
        command = ["sh", "-c", f'exec "$@" {closed}', "sh", self.program, *words]
        return subprocess.run(command, cwd=self.folder.name, capture_output=True, check=False, timeout=60)

    def test_closed_standard_output_is_an_error_wherever_something_is_printed(self):
        self.write("a.npy", npy("<f4", (1,), f32(1)))
        for words in [["--version"], ["formats"], ["show", "1"], ["report", "a.npy"], ["report", "a.npy", "--json", "-"],
                      ["report", "a.npy", "-o", "/dev/stdout"], ["experiment", "list"], ["cases", "f16_add", "-n", "2"],
                      *([*command, "--help"] for command, _ in self.commands())]:
            with self.subTest(words):
                result = self.without(">&-", words)
                self.assertEqual((result.returncode, result.stdout), (2, b""))
                self.assertRegex(result.stderr.decode(), r"\Abinade: [^\n]+\n\Z")
        self.assertEqual(self.without(">&-", ["formats"]).stderr.decode(), "binade: cannot write to standard output: it is "
                         "closed; open it, or send it to a file\n")

    def test_no_text_goes_into_a_file_that_takes_the_place_of_a_closed_stream(self):
        self.write("a.npy", npy("<f4", (1,), f32(1)))
        self.good("report", "a.npy", "--json", "good.json")
        for closed, status in ((">&-", 2), ("2>&-", 0), (">&- 2>&-", 2), ("<&- >&- 2>&-", 2)):
            with self.subTest(closed):
                self.assertEqual(self.without(closed, ["report", "a.npy", "--json", "out.json"]).returncode, status)
                self.assertEqual(self.read("out.json"), self.read("good.json"))
                os.remove(self.path("out.json"))

    def test_help_and_version_are_no_errors(self):
        self.assertIn("report", self.good("--help"))
        self.assertIn("--headroom", self.good("report", "--help"))
        self.assertRegex(self.good("--version"), r"\Abinade \d+\.\d+\.\d+\n\Z")


if __name__ == "__main__":
    main()
