# SPDX-License-Identifier: Apache-2.0
#
# `binade arith` as a user meets it, on files made here byte by byte: values, counts, shapes, what it refuses.
# Run as arith_cli_test.py PATH_TO_BINADE; needs Python only.

import math
import os
import random
import struct
import sys
import zipfile
from fractions import Fraction

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from cli_case import CliCase, main
from made_files import f32, npy, npz, packed, parts_of_npy, parts_of_safetensors, safetensors, values_of_npy


def f64(*values):
    return packed("<f8", *values)


def f16(*values):
    return packed("<f2", *values)


def half(exact):
    """A fraction rounded to binary16, to nearest even; infinite from 65520 on."""
    if exact == 0:
        return 0.0
    exponent = max(math.frexp(float(abs(exact)))[1] - 11, -24)
    unit = Fraction(2) ** exponent
    rounded = round(abs(exact) / unit) * unit  # Python's round is to nearest even
    return math.copysign(math.inf if rounded >= 65536 else float(rounded), exact)


# Exact results of finite operands.
EXACT = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "multiply_add": lambda a, b, c: a * b + c,
    "minimum": lambda a, b: min(a, b),
    "maximum": lambda a, b: max(a, b),
    "minimum_number": lambda a, b: min(a, b),
    "maximum_number": lambda a, b: max(a, b),
}
SHORT = {"add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "remainder": "rem",
         "square_root": "sqrt", "multiply_add": "fma", "minimum": "min", "maximum": "max",
         "minimum_number": "minimum_number", "maximum_number": "maximum_number"}


class Arith(CliCase):
    COLUMNS = ["values", "to_zero", "subnormal", "overflow", "saturated", "inexact", "nan_in", "inf_in", "invalid"]

    def counts(self, text, operation):
        head, line = text.splitlines()
        self.assertEqual(head.split()[0], "operation")
        self.assertEqual(line.split()[0], operation)
        return dict(zip(self.COLUMNS, map(int, line.split()[1:])))

    def result(self, name="o.npy"):
        data = self.read(name)
        return parts_of_npy(data)[0], list(values_of_npy(data, "<f4", "<f8"))

    def test_values_and_counts_are_those_of_exact_fractions(self):
        source = random.Random(3)
        n = 5000
        columns = [[struct.unpack("<f", f32(source.choice([1, -1]) * 2.0 ** source.uniform(-14, 9)))[0]
                    for _ in range(n)] for _ in range(3)]
        names = ["a.npy", "b.npy", "c.npy"]
        for name, column in zip(names, columns):
            self.write(name, npy("<f4", (n,), f32(*column)))
        seen = dict.fromkeys(self.COLUMNS, 0)
        for operation, exact_of in EXACT.items():
            with self.subTest(operation):
                operands = exact_of.__code__.co_argcount
                text = self.good("arith", SHORT[operation], *names[:operands], "o.npy", "--format", "fp16")
                head, have = self.result()
                self.assertEqual((head["descr"], head["shape"]), ("<f4", (n,)))
                want = dict.fromkeys(self.COLUMNS, 0)
                want["values"] = n
                for row, value in zip(zip(*columns[:operands]), have):
                    exact = exact_of(*map(Fraction, row))
                    rounded = half(exact)
                    self.assertEqual(value, rounded, (operation, row))
                    want["to_zero"] += rounded == 0 and exact != 0
                    want["subnormal"] += 0 < abs(rounded) < 2.0 ** -14
                    want["overflow"] += math.isinf(rounded)
                    want["inexact"] += math.isinf(rounded) or Fraction(rounded) != exact
                self.assertEqual(self.counts(text, operation), want)
                for column in self.COLUMNS:
                    seen[column] += want[column]
        for column in ["to_zero", "subnormal", "overflow", "inexact"]:
            self.assertGreater(seen[column], 5, column)

    def test_every_name_of_an_operation(self):
        for name, value in (("a", 7.5), ("b", 2), ("c", 1)):
            self.write(name + ".npy", npy("<f4", (1,), f32(value)))
        for operation, operands, want in (("add", 2, 9.5), ("subtract", 2, 5.5), ("multiply", 2, 15),
                                          ("divide", 2, 3.75), ("remainder", 2, -0.5),
                                          ("square_root", 1, math.sqrt(7.5)), ("multiply_add", 3, 16),
                                          ("minimum", 2, 2), ("maximum", 2, 7.5),
                                          ("minimum_number", 2, 2), ("maximum_number", 2, 7.5)):
            for word in {operation, SHORT[operation]} | ({"mulAdd"} if operands == 3 else set()):
                with self.subTest(word):
                    files = ["a.npy", "b.npy", "c.npy"][:operands]
                    text = self.good("arith", word, *files, "o.npy", "--format", "binary64")
                    self.assertEqual(self.counts(text, operation)["values"], 1)
                    head, values = self.result()
                    self.assertEqual((head["descr"], values), ("<f8", [want]))

    def test_what_comes_of_infinities_and_nans(self):
        inf, nan = math.inf, math.nan
        self.write("a.npy", npy("<f4", (6,), f32(inf, inf, nan, 0, 1, 60000)))
        self.write("b.npy", npy("<f4", (6,), f32(-inf, 1, inf, -0.0, 2 ** -30, 60000)))
        counts = self.counts(self.good("arith", "add", "a.npy", "b.npy", "o.npy", "--format", "binary16",
                                       "--saturation", "finite"), "add")
        self.assertEqual(counts, {"values": 6, "to_zero": 0, "subnormal": 0, "overflow": 1, "saturated": 1,
                                  "inexact": 2, "nan_in": 1, "inf_in": 2, "invalid": 1})
        values = self.result()[1]
        self.assertEqual([v != v for v in values], [True, False, True, False, False, False])
        self.assertEqual(values[3:], [0, 1, 65504])

    def test_what_minimum_and_maximum_make_of_nans_and_zeros(self):
        inf, nan = math.inf, math.nan
        self.write("a.npy", npy("<f4", (5,), f32(nan, 1, 0, -inf, nan)))
        self.write("b.npy", npy("<f4", (5,), f32(1, nan, -0.0, 1, nan)))
        for operation, want in (("minimum", [nan, nan, -0.0, -inf, nan]), ("maximum", [nan, nan, 0.0, 1, nan]),
                                ("minimum_number", [1, 1, -0.0, -inf, nan]), ("maximum_number", [1, 1, 0.0, 1, nan])):
            with self.subTest(operation):
                text = self.good("arith", operation, "a.npy", "b.npy", "o.npy", "--format", "binary16")
                self.assertEqual(repr(self.result()[1]), repr([float(x) for x in want]))
                counts = self.counts(text, operation)
                self.assertEqual(counts, dict.fromkeys(self.COLUMNS, 0) | {"values": 5, "nan_in": 3, "inf_in": 1})

    def test_operands_are_taken_as_they_are_whatever_their_dtype(self):
        self.write("a.safetensors", safetensors(("x", "BF16", [2], struct.pack("<2H", 0x3F81, 0xC000)),
                                                ("y", "F8_E4M3", [2], b"\x38\x7e")))
        self.write("d.npy", npy("<f8", (2,), f64(2.0 ** -60, 0.1)))
        self.good("arith", "fma", "a.safetensors:x", "a.safetensors:y", "d.npy", "o.npy", "--format", "binary64")
        self.assertEqual(self.result()[1], [1.0078125, -896 + 0.1])
        # A tie of bfloat16 that the double's 2^-60 decides.
        self.write("tie.npy", npy("<f4", (1,), f32(1 + 2.0 ** -8)))
        self.write("small.npy", npy("<f8", (1,), f64(2.0 ** -60)))
        self.good("arith", "add", "tie.npy", "small.npy", "o.npy", "--format", "bfloat16")
        self.assertEqual(self.result()[1], [1 + 2.0 ** -7])
        self.write("raw.npy", npy("<V2", (1,), struct.pack("<H", 0x3FC0)))
        self.assertRegex(self.complaint("arith", "sqrt", "raw.npy", "o2.npy", "--format", "e4m3"), "--dtype bfloat16")
        self.good("arith", "mul", "raw.npy", "raw.npy", "o.npy", "--format", "e4m3", "--dtype", "bfloat16")
        self.assertEqual(self.result()[1], [2.25])

    def test_subnormal_operands_are_those_of_their_own_dtype(self):
        self.write("half.npy", npy("<f2", (1,), f16(2.0 ** -20)))
        self.write("float.npy", npy("<f4", (1,), f32(2.0 ** -20)))
        for first, second, want in (("half", "float", 2.0 ** -20), ("float", "float", 2.0 ** -19), ("half", "half", 0)):
            self.good("arith", "add", first + ".npy", second + ".npy", "o.npy", "--format", "binary32", "--daz")
            self.assertEqual(self.result()[1], [want], (first, second))
        text = self.good("arith", "add", "half.npy", "half.npy", "o.npy", "--format", "binary16", "--ftz")
        self.assertEqual((self.result()[1], self.counts(text, "add")["to_zero"]), ([0], 1))

    def test_one_element_is_taken_for_every_element(self):
        self.write("x.npy", npy("<f4", (2, 3), f32(1, 2, 3, 4, 5, 6)))
        for name, shape in (("scalar", ()), ("one", (1,)), ("ones", (1, 1, 1))):
            self.write(name + ".npy", npy("<f2", shape, f16(2)))
            for order in (["x.npy", name + ".npy"], [name + ".npy", "x.npy"]):
                self.good("arith", "mul", *order, "o.npy", "--format", "binary16")
                head, values = self.result()
                self.assertEqual((head["shape"], values), ((2, 3), [2, 4, 6, 8, 10, 12]))
        self.good("arith", "add", "scalar.npy", "one.npy", "o.npy", "--format", "binary16")
        self.assertEqual((self.result()[0]["shape"], self.result()[1]), ((1,), [4]))
        self.write("none.npy", npy("<f4", (0, 3), b""))
        text = self.good("arith", "add", "none.npy", "one.npy", "o.npy", "--format", "binary16")
        self.assertEqual((self.result()[0]["shape"], self.counts(text, "add")["values"]), ((0, 3), 0))

    def test_stochastic_rounding_depends_on_the_seed_alone(self):
        n = 3000000  # several reads of a file
        self.write("x.npy", npy("<f4", (n,), f32(0.15) * n))
        self.write("y.npy", npy("<f2", (n,), f16(0.25) * n))
        outputs = []
        for seed, threads in [("1", "1"), ("1", "7"), ("2", "2")]:
            text = self.good("arith", "add", "x.npy", "y.npy", "o.npy", "--format", "e5m2", "-r", "stochastic",
                             "--seed", seed, BINADE_THREADS=threads)
            outputs.append((text, parts_of_npy(self.read("o.npy"))[1]))
        self.assertEqual(outputs[0], outputs[1])
        self.assertNotEqual(outputs[0][1], outputs[2][1])
        bits = set(outputs[0][1][i:i + 4] for i in range(0, 4 * n, 4))
        self.assertEqual(bits, {f32(0.375), f32(0.4375)})
        # Element i draws word i, as quantize of the same values.
        self.write("z.npy", npy("<f8", (n,), f64(struct.unpack("<f", f32(0.15))[0] + 0.25) * n))
        self.good("quantize", "z.npy", "q.npy", "--format", "e5m2", "-r", "stochastic", "--seed", "1")
        self.assertEqual(parts_of_npy(self.read("q.npy"))[1], outputs[0][1])

    def test_safetensors_say_what_made_them(self):
        self.write("x.npy", npy("<f4", (1,), f32(1.5)))
        for words, name in (((), "out"), (("--name", "fc1/root"), "fc1/root")):
            self.good("arith", "sqrt", "x.npy", "o.safetensors", "--format", "e4m3", "-r", "rz", *words)
            header, data = parts_of_safetensors(self.read("o.safetensors"))
            self.assertEqual(header["__metadata__"], {"binade.operation": "square_root", "binade.format": "e4m3",
                                                      "binade.rounding": "toward_zero"})
            self.assertEqual((header[name]["dtype"], header[name]["shape"]), ("F32", [1]))
            self.assertEqual(data, f32(1.125))

    def test_an_archive_on_standard_input_gives_both_operands(self):
        archive = npz(zipfile.ZIP_DEFLATED, a=npy("<f4", (2,), f32(1, 2)), b=npy("<f4", (2,), f32(3, 4)))
        self.good("arith", "sub", "/dev/stdin:a", "/dev/stdin:b", "o.npy", "--format", "e4m3", stdin=archive)
        self.assertEqual(self.result()[1], [-2, -2])

    def test_fortran_order_is_kept_and_not_mixed(self):
        self.write("f.npy", npy("<f4", (2, 3), f32(1, 2, 3, 4, 5, 6), fortran=True))
        self.write("c.npy", npy("<f4", (2, 3), f32(1, 2, 3, 4, 5, 6)))
        self.write("one.npy", npy("<f4", (1, 1), f32(1)))
        self.good("arith", "add", "f.npy", "one.npy", "o.npy", "--format", "binary16")
        head, values = self.result()
        self.assertEqual((head["fortran_order"], head["shape"], values), (True, (2, 3), [2, 3, 4, 5, 6, 7]))
        for order in (["f.npy", "c.npy"], ["c.npy", "f.npy"]):
            self.assertRegex(self.complaint("arith", "add", *order, "p.npy", "--format", "binary16"),
                             "binade: f.npy: in Fortran order, and another operand in C order; save")
        self.assertRegex(self.complaint("arith", "add", "f.npy", "f.npy", "p.safetensors", "--format", "binary16"),
                         "p.safetensors: the operands are in Fortran order.*write .npy")

    def test_what_cannot_be_done_leaves_nothing(self):
        self.write("a.npy", npy("<f4", (3,), f32(1, 2, 3)))
        self.write("b.npy", npy("<f4", (2,), f32(1, 2)))
        self.write("row.npy", npy("<f4", (1, 3), f32(1, 2, 3)))
        self.write("i.npy", npy("<i4", (3,), bytes(12)))
        self.write("cut.npy", npy("<f4", (9,), f32(1)))
        self.write("two.safetensors", safetensors(("a", "F32", [1], f32(1)), ("b", "F32", [1], f32(1))))
        crc = bytearray(npz(zipfile.ZIP_STORED, a=npy("<f4", (100,), bytes(400))))
        crc[200] ^= 1
        self.write("crc.npz", bytes(crc))
        half = ("--format", "binary16")
        self.complaints({
            ("add", "a.npy", "a.npy", "o.npy"): "--format is required",
            (*half,): "OP is required",
            ("add", *half): "FILES is required",
            ("ad", "a.npy", "a.npy", "o.npy", *half):
                "no operation 'ad'; did you mean add.; there are add, subtract, .*, maximum_number$",
            ("add", "a.npy", "o.npy", *half): "add has 2 operands: give A B OUT, 3 files and not 2",
            ("sqrt", "a.npy", "a.npy", "o.npy", *half): "square_root has 1 operand: give A OUT, 2 files and not 3",
            ("fma", "a.npy", "a.npy", "o.npy", *half): "multiply_add has 3 operands: give A B C OUT, 4 files and not 3",
            ("add", "a.npy", "b.npy", "o.npy", *half): r"b.npy: shape \(2,\); that of a.npy is \(3,\)",
            ("add", "a.npy", "row.npy", "o.npy", *half): r"a.npy: shape \(3,\); that of row.npy is \(1, 3\)",
            ("add", "a.npy", "i.npy", "o.npy", *half): "i.npy: dtype I32; B is a tensor of a floating-point dtype",
            ("add", "a.npy", "absent.npy", "o.npy", *half): "absent.npy",
            ("add", "two.safetensors", "a.npy", "o.npy", *half): "2 tensors; name one, as two.safetensors:NAME",
            ("add", "two.safetensors:c", "a.npy", "o.npy", *half): "no tensor 'c'",
            ("add", "a.npy", "a.npy", "a.npy", *half): "OUT a.npy: the same file as A a.npy, which is read",
            ("add", "a.npy", "two.safetensors:a", "two.safetensors", *half): "the same file as B two.safetensors",
            ("add", "a.npy", "a.npy", "o.txt", *half): "o.txt: cannot tell what to write",
            ("add", "a.npy", "a.npy", "", *half): "cannot tell what to write",
            ("add", "a.npy", "a.npy", "absent/o.npy", *half): "absent/o.npy",
            ("add", "a.npy", "a.npy", "o.npy", *half, "--name", "x"): "o.npy: a .npy has no place for --name",
            ("sqrt", "cut.npy", "o.npy", *half): "cut.npy",
            ("sqrt", "crc.npz", "o.npy", *half): "crc.npz",
            ("sqrt", "a.npy", "o.npy", "--format", "binary17"): "binary17",
            ("sqrt", "a.npy", "o.npy", "--format", "e5m2:bias=2000"): "no dtype holds all its values",
            ("sqrt", "a.npy", "o.npy", *half, "--rounding", "up"): "rounding",
            ("sqrt", "a.npy", "o.npy", *half, "--seed", "1"): "--seed has no effect",
            ("sqrt", "a.npy", "o.npy", "--format", "e2m1", "--nan", "nvidia"): "--nan has no effect",
            ("sqrt", "a.npy", "o.npy", "--format", "e5m2fnuz", "--nan", "propagate"): "--nan has no effect",
            ("sqrt", "a.npy", "o.npy", "--format", "e8m0", "--ftz"): "--ftz has no effect",
        }, "arith")


if __name__ == "__main__":
    main()
