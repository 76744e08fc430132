# SPDX-License-Identifier: Apache-2.0
#
# `binade validate --replay` as a user meets it: recordings and folders of hardware rows written here byte by byte, whole
# and damaged; exit statuses and complaints of one line. The expected bits are arithmetic done by hand.
# Run as validate_replay_cli_test.py PATH_TO_BINADE; needs Python alone.

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from cli_case import CliCase, main
from made_files import npy
from made_recordings import NAME, product_recording, recording, scalar_recording


class Replay(CliCase):
    command = ("validate",)

    def hardware(self, d=(0x40200000, 0), **changes):
        """A folder of two rows as published: 1 * 2 + 0.5 and -1 * 1 + 1."""
        record = {"gpu": "V100", "input": "fp16", "output": "fp32", "rows": 2, "c_used": "c_fp32",
                  "instruction": "wmma.mma_sync m16n16k16", **changes}
        os.makedirs(self.path("rows"), exist_ok=True)
        self.write("rows/sets.json", json.dumps([record]).encode())
        for field, dtype, shape, values in (("a", "<u2", (2, 1), [0x3C00, 0xBC00]),
                                            ("b", "<u2", (2, 1), [0x4000, 0x3C00]),
                                            ("c_fp32", "<u4", (2,), [0x3F000000, 0x3F800000]),
                                            ("d_fp32", "<u4", (2,), d)):
            self.write(f"rows/V100_fp16_{field}.npy", npy(dtype, shape, values))
        return self.path("rows")

    def test_a_recording(self):
        path = self.write("x.safetensors", recording())
        text = self.good("--replay", path)
        self.assertIn(f"{path}  sm_90 {NAME}", text)
        self.assertEqual(text.splitlines()[-1], "sets 1, rows 1, equal 1, different 0")

    def test_a_recording_of_another_rule(self):
        path = self.write("x.safetensors", recording(d=0x3F800001))
        text = self.good("--replay", path, status=1)
        self.assertIn("rows 1, equal 0, different 1\nrow 0: 1 ulp apart\n  a·b k0    3C00 1 · ", text)
        self.assertEqual(text.splitlines()[-1], "sets 1, rows 1, equal 0, different 1")
        self.assertNotIn("row 0:", self.good("--replay", path, "--show", "0", status=1))

    def test_folders_of_both(self):
        rows = self.hardware()
        os.mkdir(self.path("rows/more"))
        self.write("rows/more/x.safetensors", recording())
        text = self.good("--replay", rows)
        self.assertIn("V100 fp16 to fp32", text)
        self.assertEqual(text.splitlines()[-1], "sets 2, rows 3, equal 3, different 0")
        twice = self.good("--replay", rows, os.path.join(rows, "more", "x.safetensors"))
        self.assertEqual(twice.splitlines()[-1], "sets 3, rows 4, equal 4, different 0")

    def test_a_planted_row(self):
        text = self.good("--replay", self.hardware(d=(0x40200000, 0x80000000)), status=1)
        self.assertIn("row 1: 0 ulp apart", text)  # -0 for +0
        self.assertEqual(text.splitlines()[-1], "sets 1, rows 2, equal 1, different 1")

    def test_json(self):
        rows = self.hardware(d=(0x40200000, 0x80000000))
        out = self.json("--replay", rows, status=1)
        compared = out.pop("compared")
        self.assertEqual(out, {"schema": "binade.validate_replay/1", "sets": 1, "rows": 2, "equal": 1,
                               "different": 1})
        self.assertEqual(compared[0].pop("source"), rows + ": V100 fp16 to fp32")
        self.assertEqual(compared, [{
            "architecture": "sm_70", "instruction": "wmma.m16n16k16.f32.f16.f16.f32", "evidence": "hardware",
            "rows": 2, "equal": 1, "different": 1,
            "differences": [{"row": 1, "c": "3F800000", "recorded": "80000000", "emulated": "00000000",
                             "ulp_distance": 0}],
            "touched": []}])

    def test_recordings_of_whole_products(self):
        path = self.write("x.safetensors", product_recording())
        self.write("y.safetensors", recording())
        self.assertEqual(self.good("--replay", path).splitlines()[-1], "sets 1, rows 4, equal 4, different 0")
        self.assertEqual(self.good("--replay", self.folder.name).splitlines()[-1], "sets 2, rows 5, equal 5, different 0")
        path = self.write("x.safetensors", product_recording(d=(18, 34.5, -0.0, -2)))
        text = self.good("--replay", path, status=1)
        self.assertIn("elements 4, equal 3, different 1\n", text)
        self.assertIn("(0, 1)  D 80000000 -0  emulated 00000000 0  0 ulp", text)
        self.assertEqual(text.splitlines()[-1], "sets 1, rows 4, equal 3, different 1")
        product = self.json("--replay", path, status=1)["compared"][0]["product"]
        self.assertEqual((product["schema"], product["elements"], product["equal"]), ("binade.validate_gemm/1", 4, 3))

    def test_recordings_of_whole_products_that_cannot_be_replayed(self):
        for command, complaint in {"": "'command' is ''", "--help": "name a model", "--bias /x": "name a model",
                                   "other.npy": "'command'", f"--instruction {NAME}": "--arch is missing",
                                   f"--arch sm_90 --instruction {NAME} --split x": "split 'x'"}.items():
            line = self.complaint("--replay", self.write("x.safetensors", product_recording(command=command)))
            self.assertIn("x.safetensors: metadata 'command'", line)
            self.assertIn(complaint, line)

    def test_scalar_recordings(self):
        path = self.write("x.safetensors", scalar_recording())
        self.write("y.safetensors", recording())
        self.assertEqual(self.good("--replay", path).splitlines()[-1], "sets 1, rows 256, equal 256, different 0")
        both = self.good("--replay", path, self.path("y.safetensors"))
        self.assertEqual(both.splitlines()[-1], "sets 2, rows 257, equal 257, different 0")
        path = self.write("x.safetensors", scalar_recording(wrong=(0x21, 0x7F)))
        text = self.good("--replay", path, status=1)
        self.assertIn("case 33: 0x21 (0.5, 1): hardware 0x3c003801 (0.50048828125, 1), "
                      "emulated 0x3c003800 (0.5, 1)", text)
        self.assertEqual(text.splitlines()[-1], "sets 1, rows 256, equal 254, different 2")
        out = self.json("--replay", path, "--show", "1", status=1)
        self.assertEqual(out["compared"][0]["differences"], [
            {"case": 33, "operands": ["0x21"], "hardware": "0x3c003801", "emulated": "0x3c003800"}])
        self.assertEqual(out["different"], 2)

    def test_scalar_recordings_that_cannot_be_replayed(self):
        for changes, complaint in [({"hash": "0" * 16}, "recorded with 0000000000000000; the file is damaged"),
                                   ({"instruction": "cvt.\x1b"}, r"no scalar instruction 'cvt.\x1b'"),
                                   ({"samples": "9"}, "tensor 'd' is U32 (256,); its metadata promise U32 (9,)")]:
            path = self.write("x.safetensors", scalar_recording(**changes))
            self.assertIn(complaint, self.complaint("--replay", path))
        approximation = scalar_recording(instruction="ex2.approx.f32", cases="seeded", hashed_cases="257")
        path = self.write("x.safetensors", approximation)
        alone = self.run_binade("--replay", path)
        self.assertEqual((alone.returncode, alone.stderr),
                         (2, b"binade: nothing was compared: approximations have no emulation\n"))
        self.assertIn(b"rows 256, recorded only\n", alone.stdout)
        more = self.write("y.safetensors", scalar_recording())
        self.assertEqual(self.good("--replay", path, more).splitlines()[-1],
                         "sets 1, rows 256, equal 256, different 0, recorded only 1")

    def test_what_cannot_be_replayed(self):
        empty = self.path("empty")
        os.mkdir(empty)
        self.assertIn("empty: neither recordings (.safetensors) nor a sets.json", self.complaint("--replay", empty))
        self.assertIn("none: ", self.complaint("--replay", self.path("none")))
        self.assertIn("'gpu' is 'P100'; it must be one of V100", self.complaint("--replay", self.hardware(gpu="P100")))
        self.assertIn("2 rows; sets.json promises 3", self.complaint("--replay", self.hardware(rows=3)))
        hostile = self.write("x.safetensors", recording(rows="1000000000000"))
        self.assertIn("'rows' is '1000000000000'; it must be at most", self.complaint("--replay", hostile))
        hostile = self.write("x.safetensors", recording(instruction="a\nb\x1b"))
        self.assertIn(r"sm_90 has no instruction 'a\x0ab\x1b'", self.complaint("--replay", hostile))
        hostile = self.write("x.safetensors", recording(input_hash="0" * 16))
        self.assertIn("recorded with 0000000000000000; the file is damaged", self.complaint("--replay", hostile))


if __name__ == "__main__":
    main()
