# SPDX-License-Identifier: Apache-2.0
#
# Recorded rows of instructions with scales of blocks on sm_120, of every kind, held to an oracle that shares no code with binade
# (tests/oracle/scaled_products.py): the rows of `binade record --dots open`, whose files hold their operands, on the emulator in
# a GPU's place; then the files replay, and a recorded result, operand or scale that is another is found.
#   scaled_recordings_test.py BINADE      Needs Python only.
import json
import re
import struct
import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parents[2] / "oracle")]
import scaled_products as oracle
from cli_case import CliCase, main
from made_files import layout, parts_of_safetensors

NAME = re.compile(r"mma(\.sp)?\.m16n8k(\d+)\.kind::(\w+)\.block_scale\.scale_vec::(\d)X\.f32\.(\w+)\.(\w+)\.f32\.(\w+)")
DTYPES = {"U8": "|u1", "U32": "<u4"}
ONLY = ("kind::mxf4", "mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e5m2", "mxf8f6f4.block_scale.scale_vec::1X.f32.e2m1.e2m1")


def kept(row, width):
    """The codes that metadata keep of a row of a, and the metadata: of four sub-chunks of `width` codes the first two that are
    not zeros, and where there are fewer the first zeros."""
    codes, meta = [], []
    for first in range(0, len(row), 4 * width):
        units = [row[first + i * width:first + (i + 1) * width] for i in range(4)]
        zeros = [i for i in range(4) if not any(units[i])]
        missing = max(0, len(zeros) - 2)
        chosen = sorted([i for i in range(4) if any(units[i])][:2] + zeros[:missing])
        meta.append(chosen)
        for i in chosen:
            codes += units[i]
    return codes, meta


class ScaledRecordings(CliCase):
    def recorded(self):
        """The path of each recording, its name's parts, and its columns by row."""
        for words in ONLY:
            text = self.good("record", "--dots", "open", "--emulated", "sm_120", "--only", words, "-o", self.path("out"))
            self.assertNotIn("skipped", text)
            self.assertNotIn("no row was found", text)
        out = []
        for path in sorted(Path(self.path("out"), "dots").iterdir()):
            header, data = parts_of_safetensors(path.read_bytes())
            columns = {}
            for name in ("a", "b", "c", "d", "a_scale", "b_scale"):
                tensor = header[name]
                first, end = tensor["data_offsets"]
                rows, width = (tensor["shape"] + [1])[:2]
                values = struct.unpack(layout(DTYPES[tensor["dtype"]], rows * width), data[first:end])
                columns[name] = [list(values[i * width:(i + 1) * width]) for i in range(rows)]
            out.append((path, header["__metadata__"], columns))
        return out

    def test_rows_are_as_the_oracle_has_them(self):
        files, rows, values = self.recorded(), 0, set()
        for path, metadata, x in files:
            sparse, _, kind, vector, a_type, b_type, scales = NAME.fullmatch(metadata["instruction"]).groups()
            vector = int(vector)
            for i in range(len(x["d"])):
                a, meta = x["a"][i], None
                if sparse:
                    a, meta = kept(a, 1 if kind == "mxf8f6f4" else 2)
                want = oracle.block_scaled_dot(kind, a_type, b_type, scales, vector, a, x["b"][i], x["a_scale"][i],
                                               x["b_scale"][i], x["c"][i][0], meta)
                self.assertEqual(x["d"][i], [want], (path.name, i))
                rows += 1
                values.add(want)
        self.assertEqual(len(files), 2 * (4 + 2))
        self.assertGreater(rows, 120)
        self.assertGreater(len(values), 30)
        self.replayed(files)

    def test_rows_and_columns_meet_with_their_scales(self):
        text = self.good("validate", "crossed", "--emulated", "sm_120", "--only", "kind::mxf4", "--dots", "1000")
        lines = text.splitlines()
        self.assertEqual(len(lines), 8 + 1)
        for line in lines[:-1]:
            self.assertRegex(line, r"\.ue\dm\d dots +\d+, different 0$")

    def replayed(self, files):
        """The files, of which one is then spoiled."""
        rows = sum(len(x["d"]) for _, _, x in files)
        text = self.good("validate", "--replay", self.path("out"))
        self.assertEqual(text.splitlines()[-1], f"sets {len(files)}, rows {rows}, equal {rows}, different 0")
        path = next(x[0] for x in files if "mma.m16n8k64.kind::mxf4nvf4" in x[0].name and "ue4m3" in x[0].name)
        evidence = self.good("validate", "--replay", str(path), "--evidence")
        for question in ("largest product's exponent", "groups of 4", "c = -0 alone is -0"):
            self.assertRegex(evidence, rf" {re.escape(question)} +([1-9]\d*) +\1 +0  as binade\n")
        good = path.read_bytes()
        length, = struct.unpack("<Q", good[:8])
        header = json.loads(good[8:8 + length])

        def spoiled(name):
            at = 8 + length + header[name]["data_offsets"][0]
            path.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1:])

        spoiled("d")
        text = self.good("validate", "--replay", str(path), status=1)
        self.assertIn("different 1", text)
        self.assertRegex(text, r"\n  scales 3  [0-9A-F]{2} \S+ · [0-9A-F]{2} \S+\n")
        self.assertIn(f"binade explain dots --recording {path} --row 0", text)
        explained = self.good("explain", "dots", "--recording", str(path), "--row", "0")
        self.assertIn("hardware", explained)
        for name in ("a", "a_scale", "b_scale"):
            spoiled(name)
            self.assertIn("the file is damaged", self.complaint("validate", "--replay", str(path)))
        path.write_bytes(good)


if __name__ == "__main__":
    main()
