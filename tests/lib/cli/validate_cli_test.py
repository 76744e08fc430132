# SPDX-License-Identifier: Apache-2.0
#
# `binade validate` as a user meets it: dot products from .npy files written here by hand, recordings and
# folders of hardware rows, a machine without a GPU; exit statuses and complaints of one line. The expected
# bits are arithmetic done by hand. Run as validate_cli_test.py PATH_TO_BINADE; needs Python alone.

import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest

BINADE = "binade"
SETTINGS = ("BINADE_THREADS", "BINADE_ISA", "BINADE_DATA", "NO_COLOR")
NAME = "mma.m16n8k16.f32.f16.f16.f32"
WIDTHS = {"|u1": "B", "<u2": "H", "<u4": "I", "<u8": "Q", "<f2": "H", "<f4": "I"}


def npy(dtype, shape, values, fortran=False):
    """A .npy of little-endian values given as their bits."""
    text = f"{{'descr': '{dtype}', 'fortran_order': {fortran}, 'shape': {tuple(shape)!r}, }}\n".encode()
    data = struct.pack(f"<{len(values)}{WIDTHS[dtype]}", *values)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def fnv(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def recording(d=0x3F800000, **changes):
    """A recording of one row, 1 * 1 + 0 and zeros, in binary16 to binary32."""
    row = struct.pack("<16H", 0x3C00, *[0] * 15)
    parts = {"a": ("U16", [1, 16], row), "b": ("U16", [1, 16], row), "c": ("U32", [1], bytes(4)),
             "d": ("U32", [1], struct.pack("<I", d))}
    metadata = {"gpu": "g", "driver": "1", "cuda": "13.0", "ptx": "p", "sass": "s", "generator": "unknown",
                "seed": "unknown", "rows": "1", "input_hash": f"{fnv(row + row + bytes(4)):016x}",
                "date": "2026-01-01", "instruction": NAME, "architecture": "sm_90", **changes}
    header, data = {"__metadata__": metadata}, b""
    for name, (dtype, shape, part) in parts.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def mixed(x):
    """The finalizer of SplitMix64."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
    return x ^ x >> 31


def scalar_recording(wrong=(), **changes):
    """All 256 cases of FP4 to binary16, the number of a case being the byte; `wrong` ones get another last bit."""
    magnitudes = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    half = [struct.unpack("<H", struct.pack("<e", x))[0] for x in magnitudes + [-x for x in magnitudes]]
    half[8] = 0x8000
    d = [(half[n >> 4] << 16 | half[n & 15]) ^ (n in wrong) for n in range(256)]
    total = sum(mixed(mixed((n + 0x9E3779B97F4A7C15) % 2**64) ^ x) for n, x in enumerate(d)) % 2**64
    name = "cvt.rn.f16x2.e2m1x2"
    metadata = {"gpu": "g", "driver": "1", "cuda": "13.0", "ptx": name, "sass": "unknown", "date": "2026-01-01",
                "kind": "scalar", "instruction": name, "architecture": "sm_100", "cases": "exhaustive", "seed": "1",
                "samples": "256", "hashed_cases": "256", "hash": f"{total:016x}", **changes}
    header = {"__metadata__": metadata, "d": {"dtype": "U32", "shape": [256], "data_offsets": [0, 1024]}}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + struct.pack("<256I", *d)


def product_recording(d=(18, 34.5, 0, -2), command=f"--arch sm_90 --instruction {NAME}"):
    """A recording of a whole product: ones, twos and zeros times ones, and c."""
    parts = {"a": ("F16", [2, 16], "16e16e", [1] * 16 + [2] * 16), "b": ("F16", [16, 2], "32e", [1, 0] * 16),
             "c": ("F32", [2, 2], "4f", [2, 0, 2.5, -2]), "d": ("F32", [2, 2], "4f", [d[0], d[2], d[1], d[3]])}
    header, data = {"__metadata__": {"command": command}}, b""
    for name, (dtype, shape, layout, values) in parts.items():
        part = struct.pack("<" + layout, *values)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


class Validate(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        # 1 * 2 + 3 * 4 + 0.5, and 1 * 1 - 1, and 0 - 0
        self.write("a", npy("<u2", (3, 2), [0x3C00, 0x4200, 0x3C00, 0, 0, 0]))
        self.write("b", npy("<u2", (3, 2), [0x4000, 0x4400, 0x3C00, 0, 0, 0]))
        self.write("c", npy("<u4", (3,), [0x3F000000, 0xBF800000, 0x80000000]))
        self.write("d", npy("<u4", (3,), [0x41680000, 0, 0]))

    def path(self, name):
        return os.path.join(self.folder.name, name if "." in name or not name else name + ".npy")

    def write(self, name, data):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def run_it(self, *words):
        kept = {key: value for key, value in os.environ.items() if key not in SETTINGS}
        return subprocess.run([BINADE, "validate", *words], capture_output=True, env=kept, check=False,
                              timeout=300)

    def good(self, *words, status=0):
        result = self.run_it(*words)
        self.assertEqual((result.returncode, result.stderr.decode()), (status, ""), words)
        return result.stdout.decode()

    def complaint(self, *words):
        """The one line on standard error of a command that exits with 2 and prints nothing."""
        result = self.run_it(*words)
        line = result.stderr.decode()
        self.assertEqual((result.returncode, result.stdout), (2, b""), (words, line))
        self.assertRegex(line, r"\Abinade: [^\n]+\n\Z")
        self.assertNotIn("should not happen", line)
        return line

    def dots(self, arch="sm_90", name=NAME, without="", **files):
        words = ["dots", "--arch", arch, "--instruction", name]
        for key in "abcd":
            if key != without:
                words += ["--" + key, self.path(files.get(key, key))]
        return words


class Dots(Validate):
    def test_equal_rows(self):
        text = self.good(*self.dots())
        self.assertEqual(text.splitlines()[-1], "rows 3, equal 3, different 0")
        self.assertIn("sm_90 " + NAME + ": hardware (H100, H200 by wmma)", text)

    def test_dtypes_themselves_and_columns(self):
        self.write("a", npy("<f2", (3, 2), [0x3C00, 0x4200, 0x3C00, 0, 0, 0]))
        self.write("c", npy("<f4", (3, 1), [0x3F000000, 0xBF800000, 0x80000000]))
        self.write("d", npy("<f4", (3, 1), [0x41680000, 0, 0]))
        self.good(*self.dots())

    def test_without_c_it_is_zero(self):
        text = self.good(*self.dots(without="c"), status=1)
        self.assertEqual(text.splitlines()[-1], "rows 3, equal 1, different 2")

    def test_a_difference_is_told(self):
        self.write("d", npy("<u4", (3,), [0x41680001, 0, 0]))
        text = self.good(*self.dots(), status=1)
        for words in ("row 0: 1 ulp apart", "a·b k1    4200 3 · ", "and 14 products of zeros", "c         3F000000  0.5",
                      "recorded  41680001  14.50000095367431640625", "emulated  41680000  14.5", "rows 3, equal 2, different 1"):
            self.assertIn(words, text)

    def test_show_limits_what_is_told_not_what_is_counted(self):
        self.write("d", npy("<u4", (3,), [1, 1, 0x7FC00000]))
        for show, told in (("0", 0), ("2", 2), ("5", 3)):
            text = self.good(*self.dots(), "--show", show, status=1)
            self.assertEqual(text.count("\n  emulated "), told)
            self.assertIn("rows 3, equal 0, different 3\n", text)
        self.assertIn("row 2: one is NaN\n", text)

    def test_json(self):
        self.write("d", npy("<u4", (3,), [0x41680000, 0, 0x7FC00000]))
        out = json.loads(self.good(*self.dots(), "--json", status=1))
        self.assertEqual(out, {
            "schema": "binade.validate_dots/1", "architecture": "sm_90", "instruction": NAME,
            "evidence": "hardware", "rows": 3, "equal": 2, "different": 1,
            "differences": [{"row": 2, "c": "80000000", "recorded": "7FC00000", "emulated": "00000000",
                             "ulp_distance": None}],
            "touched": []})

    def test_rows_that_hang_on_what_nobody_has_seen(self):
        """-2^-133 · 2^-20 is cut to zero; -0 beside one -0 · 0 and seven of +0; 0 · 2^127 beside c = 2^-43; 1 · 1."""
        dots = ("--arch", "sm_80", "--instruction", "mma.m16n8k8.f32.bf16.bf16.f32")
        for name, dtype, values in (("a", "<u2", [0x8001, 0x8000, 0, 0x3F80]), ("b", "<u2", [0x3580, 0, 0x7F00, 0x3F80]),
                                    ("c", "<u4", [0, 0x80000000, 0x2A000000, 0]),
                                    ("d", "<u4", [0, 0, 0x2A000000, 0x3F800000])):
            self.write(name + ".npy", npy(dtype, (4, 1) if name in "ab" else (4,), values))
            dots += ("--" + name, os.path.join(self.folder.name, name + ".npy"))
        out = self.good("dots", *dots)
        self.assertIn("sm_80 mma.m16n8k8.f32.bf16.bf16.f32: paper (MMA-Sim 2.1, MATLAB-tensor-core)\n  open: signs of zero\n", out)
        self.assertEqual(out.splitlines()[-2],
                         "of these 4 rows 1 touch zero operands (paper), 1 signs of zero (open)")
        self.assertEqual(json.loads(self.good("dots", *dots, "--json"))["touched"], [
            {"aspect": "zero operands", "evidence": "paper", "count": 1, "looked_at": 4},
            {"aspect": "signs of zero", "evidence": "open", "count": 1, "looked_at": 4}])
        for rule, row, d in (("--cut-to-zero=negative", 0, "80000000"), ("--zero-raises=single", 2, "00000000"),
                             ("--zero-raises=emin", 2, "00000000")):
            found = json.loads(self.good("dots", *dots, "--json", rule, status=1))
            self.assertEqual([(x["row"], x["emulated"]) for x in found["differences"]], [(row, d)])
            self.assertNotIn("touched", found)
            self.assertEqual(found["rules"], rule.split("="))
            self.assertIn(" with " + rule.replace("=", " "), self.good("dots", *dots, rule, status=1))
        in_full = self.good("dots", *dots, "--evidence")
        self.assertRegex(in_full, r"signs of zero +open +cut_to_zero negative +1 +1 +0  as binade\n")
        self.assertEqual(self.good("dots", *dots, "--floor", "-132").splitlines()[-1], "rows 4, equal 4, different 0")

    def test_a_product_that_hangs_on_what_nobody_has_seen(self):
        a = self.write("a.npy", npy("<u2", (1, 8), [0x8001] + 7 * [0]))
        b = self.write("b.npy", npy("<u2", (8, 1), [0x3580] + 7 * [0]))
        d = self.write("d.npy", npy("<u4", (1, 1), [0]))
        words = ("gemm", a, b, "--d", d, "--arch", "sm_80", "--instruction", "mma.m16n8k8.f32.bf16.bf16.f32")
        self.assertEqual(self.good(*words).splitlines()[-2], "of these 1 elements 1 touch signs of zero (open)")
        self.assertEqual(json.loads(self.good(*words, "--json"))["touched"][0]["aspect"], "signs of zero")
        ruled = self.good(*words, "--cut-to-zero", "negative", status=1)
        self.write("d.npy", npy("<u4", (1, 1), [0x80000000]))
        self.assertIn("the first 1 different are as under cut_to_zero negative, a rule that no hardware has excluded\n",
                      self.good(*words, status=1))
        self.assertIn("mma.m16n8k8.f32.bf16.bf16.f32 with --cut-to-zero negative: 1 × 1", ruled)
        self.assertRegex(ruled, r"step by step: binade explain gemm .* --cut-to-zero negative --d ")
        self.assertIn("is no fused sum", self.complaint("gemm", a, b, "--d", d, "--instruction",
                                                        "fma.rn.f32.bf16.bf16.f32", "--floor", "none"))

    def test_files_that_do_not_fit(self):
        self.write("wide", npy("<u2", (3, 17), [0] * 51))
        self.assertIn("shape (3, 17); --a is of shape (rows, K), K at most 16", self.complaint(*self.dots(a="wide")))
        self.write("flat", npy("<u2", (6,), [0] * 6))
        self.assertIn("shape (6,); --b is of shape (rows, K)", self.complaint(*self.dots(b="flat")))
        self.write("short", npy("<u2", (2, 2), [0] * 4))
        self.assertIn("short.npy: 2 rows; ", self.complaint(*self.dots(a="short")))
        self.write("type", npy("<u4", (3, 2), [0] * 6))
        self.assertIn("type.npy: dtype U32; --a takes F16, bits of binary16 (uint16)",
                      self.complaint(*self.dots(a="type")))
        self.write("table", npy("<u4", (1, 3), [0] * 3))
        self.assertIn("--d is of shape (rows,)", self.complaint(*self.dots(d="table")))
        self.assertIn("missing.npy: ", self.complaint(*self.dots(c="missing")))
        self.write("cut", npy("<u4", (3,), [0] * 3)[:-1])
        self.assertIn("cut.npy: ", self.complaint(*self.dots(d="cut")))
        for name in "ab":
            self.write(name, npy("<u2", (0, 2), []))
        for name in "cd":
            self.write(name, npy("<u4", (0,), []))
        self.assertIn("no rows; there is nothing to compare", self.complaint(*self.dots()))

    def test_names_that_there_are_not(self):
        self.assertIn("did you mean mma.m16n8k16.f32.f16.f16.f32?",
                      self.complaint(*self.dots(name="mma.m16n8k16.f32.f16.f16.f31")))
        self.assertIn("sm_75 has no mma.m16n8k32.f32.e4m3.e4m3.f32; it is on sm_89",
                      self.complaint(*self.dots(arch="sm_75", name="mma.m16n8k32.f32.e4m3.e4m3.f32")))
        self.assertIn("no architecture 'sm_91'; there are sm_70", self.complaint(*self.dots(arch="sm_91")))
        self.assertIn("--d is required", self.complaint(*self.dots(without="d")))


class Replay(Validate):
    def hardware(self, d=(0x40200000, 0), **changes):
        """A folder of two rows as published: 1 * 2 + 0.5 and -1 * 1 + 1."""
        record = {"gpu": "V100", "input": "fp16", "output": "fp32", "rows": 2, "c_used": "c_fp32",
                  "instruction": "wmma.mma_sync m16n16k16", **changes}
        self.write("rows/sets.json", json.dumps([record]).encode())
        for field, dtype, shape, values in (("a", "<u2", (2, 1), [0x3C00, 0xBC00]),
                                            ("b", "<u2", (2, 1), [0x4000, 0x3C00]),
                                            ("c_fp32", "<u4", (2,), [0x3F000000, 0x3F800000]),
                                            ("d_fp32", "<u4", (2,), d)):
            self.write(f"rows/V100_fp16_{field}.npy", npy(dtype, shape, values))
        return os.path.join(self.folder.name, "rows")

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
        out = json.loads(self.good("--replay", rows, "--json", status=1))
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
        product = json.loads(self.good("--replay", path, "--json", status=1))["compared"][0]["product"]
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
        both = self.good("--replay", path, os.path.join(self.folder.name, "y.safetensors"))
        self.assertEqual(both.splitlines()[-1], "sets 2, rows 257, equal 257, different 0")
        path = self.write("x.safetensors", scalar_recording(wrong=(0x21, 0x7F)))
        text = self.good("--replay", path, status=1)
        self.assertIn("case 33: 0x21 (0.5, 1): hardware 0x3c003801 (0.50048828125, 1), "
                      "emulated 0x3c003800 (0.5, 1)", text)
        self.assertEqual(text.splitlines()[-1], "sets 1, rows 256, equal 254, different 2")
        out = json.loads(self.good("--replay", path, "--json", "--show", "1", status=1))
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
        alone = self.run_it("--replay", path)
        self.assertEqual((alone.returncode, alone.stderr),
                         (2, b"binade: nothing was compared: approximations have no emulation\n"))
        self.assertIn(b"rows 256, recorded only\n", alone.stdout)
        more = self.write("y.safetensors", scalar_recording())
        self.assertEqual(self.good("--replay", path, more).splitlines()[-1],
                         "sets 1, rows 256, equal 256, different 0, recorded only 1")

    def test_what_cannot_be_replayed(self):
        empty = os.path.join(self.folder.name, "empty")
        os.mkdir(empty)
        self.assertIn("empty: neither recordings (.safetensors) nor a sets.json", self.complaint("--replay", empty))
        self.assertIn("none: ", self.complaint("--replay", os.path.join(self.folder.name, "none")))
        self.assertIn("'gpu' is 'P100'; it must be one of V100", self.complaint("--replay", self.hardware(gpu="P100")))
        self.assertIn("2 rows; sets.json promises 3", self.complaint("--replay", self.hardware(rows=3)))
        hostile = self.write("x.safetensors", recording(rows="1000000000000"))
        self.assertIn("'rows' is '1000000000000'; it must be at most", self.complaint("--replay", hostile))
        hostile = self.write("x.safetensors", recording(instruction="a\nb\x1b"))
        self.assertIn(r"sm_90 has no instruction 'a\x0ab\x1b'", self.complaint("--replay", hostile))
        hostile = self.write("x.safetensors", recording(input_hash="0" * 16))
        self.assertIn("recorded with 0000000000000000; the file is damaged", self.complaint("--replay", hostile))


class Device(Validate):
    def test_nothing_asked(self):
        self.assertIn("nothing to validate; give --replay PATH, --device, or dots", self.complaint())

    def test_options_that_do_not_go_together(self):
        self.assertIn("--replay", self.complaint("--device", "--replay", "x"))
        self.assertIn("--device", self.complaint("--rows", "5"))
        self.assertIn("--rows", self.complaint("--device", "--rows", "0"))
        self.assertIn("no generator 'norml'; did you mean normal?", self.complaint("--device", "--generator", "norml"))

    def test_without_a_gpu(self):
        result = self.run_it("--device", "--rows", "10", "--generator", "normal", "--json")
        if result.returncode != 77:  # there is one: it was compared
            self.assertEqual(result.stderr, b"")
            out = json.loads(result.stdout)
            self.assertIn(result.returncode, (0, 1))
            self.assertEqual(out["equal"] + out["different"], out["rows"])
            self.assertGreater(out["rows"], 0)
            return
        out = json.loads(result.stdout)
        self.assertEqual(out["schema"], "binade.validate_device/1")
        if out["device"] is None:
            self.assertTrue(out["reason"])
            text = self.good("--device", "--seed", "3", status=77)
            self.assertEqual(text, out["reason"] + "\n")
        else:  # a GPU that runs none of them
            self.assertIn(b"nothing was compared", result.stderr)


if __name__ == "__main__":
    BINADE = os.path.abspath(sys.argv.pop(1))
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
