# SPDX-License-Identifier: Apache-2.0
#
# Arrays as arguments and results of the module: quantize, encode, decode, arith, cvt and show give the program's bytes, whatever
# library, dtype, shape and strides an array has; large arrays are not copied; what cannot be read is refused by name.
# arrays_test.py BINADE
import json
import os
import pickle
import random
import resource
import subprocess
import sys
import unittest
from pathlib import Path

import numpy as np

from cli_case import CliCase, main

import binade

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None
with_ml_dtypes = unittest.skipUnless(ml_dtypes, "no ml_dtypes")

FORMATS = ["binary16", "bfloat16", "tf32", "e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz", "e2m1", "e3m2", "ue4m3", "e5m7",
           "e3m4:bias=20", "binary32", "binary64"]
NO_CHOICE_OF_NAN = {"e4m3fnuz", "e5m2fnuz", "e2m1", "e3m2", "ue4m3"}
ROUNDINGS = json.loads((Path(__file__).parents[3] / "lib/json.schema.json").read_text())["$defs"]["rounding"]["enum"]
NUMPY_TYPES = [np.float16, np.float32, np.float64]
COUNTS = ["values", "to_zero", "subnormal", "overflow", "saturated", "inexact", "nan_in", "inf_in", "invalid"]  # the program's columns


def numbers(count, dtype, seed=1):
    """Of all magnitudes that the formats tell apart, with every special."""
    draw = np.random.default_rng(seed)
    with np.errstate(over="ignore", under="ignore"):
        x = (draw.standard_normal(count) * np.exp2(draw.integers(-40, 40, count))).astype(dtype)
    x[:8] = [0, -0.0, np.inf, -np.inf, np.nan, 1, -448, 65504]
    return x


def bits(x):
    return np.ascontiguousarray(x).view({2: np.uint16, 4: np.uint32, 8: np.uint64, 1: np.uint8}[x.dtype.itemsize])


class Arrays(CliCase):
    def equal(self, a, b, what=None):
        self.assertEqual(a.dtype, b.dtype, what)
        self.assertEqual(a.shape, b.shape, what)
        np.testing.assert_array_equal(bits(a), bits(b), str(what))

    def by_program(self, x, *words, out="out.npy", command="quantize"):
        np.save(self.path("in.npy"), x)
        text = self.good(command, self.path("in.npy"), self.path(out), *words)
        return np.load(self.path(out)), text.splitlines()[1].split()

    def test_quantize_gives_the_program_s_bytes_and_counts(self):
        draw = random.Random(1)
        for dtype in NUMPY_TYPES:
            x = numbers(5000, dtype)
            for format in FORMATS:
                rounding = draw.choice(ROUNDINGS)
                saturation = draw.choice(["none", "finite"])
                nan = draw.choice(["quiet"] if format in NO_CHOICE_OF_NAN else ["quiet", "nvidia", "propagate"])
                flush = draw.choice(["none", "results", "operands", "both"])
                drawn = {"seed": draw.randrange(2**64), "random_bits": draw.randrange(1, 33)} if rounding == "stochastic" else {}
                with self.subTest(dtype=dtype, format=format, rounding=rounding, flush=flush):
                    words = ["--format", format, "--rounding", rounding, "--saturation", saturation, "--nan", nan]
                    words += [word for name, x in drawn.items() for word in (f"--{name.replace('_', '-')}", str(x))]
                    words += ["--ftz"] * (flush in ("results", "both")) + ["--daz"] * (flush in ("operands", "both"))
                    expected, line = self.by_program(x, *words)
                    got, counts = binade.quantize(x, format, rounding=rounding, saturation=saturation, nan=nan, flush=flush,
                                                  counts=True, **drawn)
                    self.equal(got.astype(expected.dtype) if nan != "propagate" else got.astype(expected.dtype), expected)
                    self.assertEqual([str(getattr(counts, name)) for name in COUNTS], line[-9:])

    def test_results_keep_the_dtype_that_holds_them(self):
        for given, format, wanted in [(np.float16, "e4m3", np.float16), (np.float16, "bfloat16", np.float32),
                                      (np.float32, "e4m3", np.float32), (np.float32, "binary64", np.float64),
                                      (np.float64, "e4m3", np.float64), (np.float16, "binary16", np.float16)]:
            with self.subTest(given=given, format=format):
                self.assertEqual(binade.quantize(np.ones(3, given), format).dtype, wanted)

    @with_ml_dtypes
    def test_codes_in_a_dtype_of_four_bits(self):
        x = np.random.default_rng(1).standard_normal((4, 32)).astype("f")
        codes, scales, _ = binade.encode(x, "mxfp4")
        named = codes.view(ml_dtypes.float4_e2m1fn)
        self.assertEqual(binade.decode(named, "mxfp4", scales=scales).tobytes(), binade.decode(codes, "mxfp4", scales=scales).tobytes())
        self.assertEqual(binade.identify_scales(x, named, scales).rules, binade.identify_scales(x, codes, scales).rules)
        with self.assertRaisesRegex(TypeError, r"float4_e2m1fn, which decode\(\) and identify_scales\(\) take as codes"):
            binade.encode(named, "mxfp4")

    @with_ml_dtypes
    def test_results_leave_a_dtype_that_lacks_a_value_of_the_format(self):
        e4m3fn, e4m3fnuz = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz
        for given, format, wanted in [(e4m3fn, "e4m3", e4m3fn), (e4m3fn, "e2m1", e4m3fn), (e4m3fn, "e3m2:specials=ieee", "f4"),
                                      (e4m3fn, "e4m3:specials=none", "f4"), (e4m3fnuz, "e4m3fnuz", e4m3fnuz),
                                      (e4m3fnuz, "e3m2", "f4"), (ml_dtypes.float8_e5m2, "e2m1", ml_dtypes.float8_e5m2)]:
            with self.subTest(given=given, format=format):
                codes = np.arange(256, dtype=np.uint8).view(given)
                rounded = binade.quantize(codes, format)
                self.assertEqual(rounded.dtype, np.dtype(wanted))
                wide = binade.quantize(codes.astype("f4"), format)
                np.testing.assert_array_equal(rounded.astype("f4").view("u4"), wide.view("u4"))
        np.testing.assert_array_equal(
            binade.arith("add", np.float32([448]).astype(e4m3fn), np.float32([32]).astype(e4m3fn), format="e4m3:specials=none"),
            np.float32([480]))

    def test_what_raises_invalid_in_test_cases_counts_as_invalid(self):
        for operation, function in [("fma", "f16_mulAdd"), ("div", "f16_div"), ("sqrt", "f16_sqrt"), ("min", "f16_minimum"),
                                    ("bfloat16", "f16_to_bf16"), ("e2m1", "f16_to_e2m1")]:
            for flush in ("none", "operands"):
                with self.subTest(function=function, flush=flush):
                    count = ["--count", "500"] * (operation in ("fma", "div", "min"))  # the others have one operand of 16 bits
                    cases = self.good("cases", function, *count, *["--daz"] * (flush == "operands"))
                    rows = np.array([[int(word, 16) for word in line.split()] for line in cases.splitlines()])
                    x = [column.astype("u2").view("f2") for column in rows.T[:-2]]
                    _, counts = (binade.quantize(x[0], operation, flush=flush, counts=True) if "_to_" in function else
                                 binade.arith(operation, *x, format="binary16", flush=flush, counts=True))
                    self.assertEqual(counts.invalid, np.count_nonzero(rows[:, -1] & 0x10))
                    self.assertGreater(counts.invalid, 0)

    def test_an_array_in_fortran_order_draws_the_words_of_its_indices(self):
        draw = np.random.default_rng(6)
        x = draw.standard_normal((5, 7, 3)).astype("f4")
        np.save(self.path("y.npy"), np.asfortranarray(x[::-1]))
        expected = binade.quantize(x, "e4m3", rounding="stochastic", seed=3)
        self.equal(binade.quantize(np.asfortranarray(x), "e4m3", rounding="stochastic", seed=3), expected)
        got, _ = self.by_program(np.asfortranarray(x), "--format", "e4m3", "--rounding", "stochastic", "--seed", "3")
        self.equal(got, expected)
        self.good("arith", "add", self.path("in.npy"), self.path("y.npy"), self.path("sum.npy"), "--format", "e4m3",
                  "--rounding", "stochastic", "--seed", "3")
        self.equal(np.load(self.path("sum.npy")), binade.arith("add", x, x[::-1], format="e4m3", rounding="stochastic", seed=3))

    def test_arrays_of_the_other_byte_order_are_read(self):
        for dtype in NUMPY_TYPES:
            x = numbers(100, dtype)
            swapped = x.astype(x.dtype.newbyteorder())
            self.equal(binade.quantize(swapped, "e4m3"), binade.quantize(x, "e4m3"), dtype)
            with self.assertRaisesRegex(ValueError, "byte order"):
                binade.quantize(swapped, "e4m3", out=swapped)

    def test_encode_and_decode(self):
        for dtype in NUMPY_TYPES:
            x = numbers(3000, dtype)
            for format in FORMATS + ["e8m0"]:
                with self.subTest(dtype=dtype, format=format):
                    expected, _ = self.by_program(x, "--format", format, "--encode")
                    codes = binade.encode(x, format)
                    self.assertEqual(codes.dtype.kind, "u")
                    np.testing.assert_array_equal(codes, bits(expected))
                    if format != "e8m0":
                        again = binade.decode(codes, format)
                        self.equal(again, binade.quantize(x, format).astype(again.dtype))

    @with_ml_dtypes
    def test_every_encoding_decodes_as_ml_dtypes_says(self):
        for format, theirs in [("e4m3", ml_dtypes.float8_e4m3fn), ("e5m2", ml_dtypes.float8_e5m2),
                               ("e4m3fnuz", ml_dtypes.float8_e4m3fnuz), ("bfloat16", ml_dtypes.bfloat16)]:
            width = np.dtype(theirs).itemsize
            codes = np.arange(256**width, dtype=f"u{width}")
            np.testing.assert_array_equal(binade.decode(codes, format), codes.view(theirs).astype(np.float32))

    def test_arith_gives_the_program_s_bytes_and_counts(self):
        a, b, c = (numbers(4000, np.float32, seed) for seed in range(3))
        for name, value in zip("abc", (a, b, c)):
            np.save(self.path(name + ".npy"), value)
        for operation, operands in {"add": 2, "subtract": 2, "mul": 2, "divide": 2, "rem": 2, "square_root": 1, "fma": 3,
                                    "minimum": 2, "max": 2, "minimum_number": 2}.items():
            for format in ["binary16", "e4m3", "bfloat16"]:
                with self.subTest(operation=operation, format=format):
                    text = self.good("arith", operation, *[self.path(x + ".npy") for x in "abc"[:operands]],
                                     self.path("d.npy"), "--format", format, "--rounding", "stochastic", "--seed", "7")
                    got, counts = binade.arith(operation, *(a, b, c)[:operands], format=format, rounding="stochastic",
                                               seed=7, counts=True)
                    self.equal(got, np.load(self.path("d.npy")))
                    self.assertEqual([str(getattr(counts, name)) for name in COUNTS], text.splitlines()[1].split()[-9:])
        self.equal(binade.arith("add", a, np.float32(1), format="e5m2"), binade.arith("add", a, np.ones_like(a), format="e5m2"))
        self.equal(binade.arith("fma", a, 2.0, a, format="e5m2"),
                   binade.arith("fma", a, np.full_like(a, 2), a, format="e5m2"))

    def test_cvt_is_ptx_s(self):
        x = numbers(2000, np.float32)
        self.assertEqual(binade.cvt("cvt.rn.f16.f32", x).dtype, np.float16)
        np.testing.assert_array_equal(bits(binade.cvt("cvt.rn.f16.f32", x[:4])), [0, 0x8000, 0x7C00, 0xFC00])
        codes = binade.encode(x, "e4m3", saturation="finite", nan="nvidia")
        pairs = binade.cvt("cvt.rn.satfinite.e4m3x2.f32", x, x[::-1])
        finite = np.isfinite(x) & np.isfinite(x[::-1])
        np.testing.assert_array_equal(pairs[finite], (codes.astype("u2") << 8 | codes[::-1])[finite])
        np.testing.assert_array_equal(binade.cvt("cvt.rn.f16.f32", x.view(np.uint32)).view("u2"),
                                      binade.cvt("cvt.rn.f16.f32", x).view("u2"))
        np.testing.assert_array_equal(bits(binade.cvt("fma.rn.f32", np.float32(3), np.float32(4), np.float32([5, 6]))),
                                      bits(np.float32([17, 18])))
        with self.assertRaisesRegex(ValueError, "cvt.rn.f16.f32 takes 1 operand, not 2"):
            binade.cvt("cvt.rn.f16.f32", x, x)
        with self.assertRaisesRegex(ValueError, "operand 1: element 0 is no number"):
            binade.cvt("cvt.f32.f16", np.float32([0.1]))
        with self.assertRaisesRegex(ValueError, "did you mean|no instruction"):
            binade.cvt("cvt.rn.f16.f23", x)

    def test_show_and_the_table_of_formats(self):
        shown = binade.show(["0.1", "2^-25"], ["binary16", "e4m3"], rounding="to_odd")
        words = ["show", "0.1", "2^-25", "--format", "binary16,e4m3", "--rounding", "to_odd"]
        self.assertEqual(str(shown), self.good(*words))
        self.assertEqual(shown.to_json(), self.good(*words, "--json"))
        self.assertEqual(str(binade.show(0.1, "e4m3")), self.good("show", (0.1).hex(), "--format", "e4m3"))
        names = [str(one) for one in binade.formats()]
        self.assertEqual(str(binade.format_table(binade.formats())), self.good("formats", *names))
        self.assertEqual(binade.format_table("e5m7").to_json(), self.good("formats", "e5m7", "--json"))
        self.assertEqual(binade.Format("e4m3").to_dict(), self.json("formats", "e4m3")["formats"][0])
        self.assertIn("<table", binade.Format("e4m3")._repr_html_())

    def test_formats_are_values(self):
        a = binade.Format("e4m3")
        self.assertEqual(a, binade.Format("float8_e4m3fn"))
        self.assertNotEqual(a, binade.Format("e5m2"))
        self.assertEqual({a: 1}[pickle.loads(pickle.dumps(a))], 1)
        self.assertEqual((repr(a), str(a), a.max, a.precision, a.has_infinity), ("Format('e4m3')", "e4m3", 448, 4, False))
        self.assertEqual(binade.quantize(np.float32([0.3]), a), binade.quantize(np.float32([0.3]), "e4m3"))

    def test_strides_shapes_and_orders(self):
        x = numbers(24 * 5, np.float32).reshape(4, 6, 5)
        whole = binade.quantize(x, "e4m3")
        for name, cut in {"every other": np.s_[::2], "reversed": np.s_[:, ::-1], "column": np.s_[:, :, 2],
                          "none": np.s_[:0], "one": np.s_[1, 2, 3], "axis": np.s_[None, :, 0:1]}.items():
            with self.subTest(name):
                self.equal(np.asarray(binade.quantize(x[cut], "e4m3")), np.asarray(whole[cut]))
        self.equal(binade.quantize(x.T, "e4m3"), np.ascontiguousarray(whole.T))
        self.equal(binade.quantize(np.asfortranarray(x[0]), "e4m3"), whole[0])
        self.assertEqual(binade.quantize(np.float32(0.3), "e4m3").shape, ())
        self.assertEqual(binade.quantize([[0.3, 1.7]], "e2m1").tolist(), [[0.5, 1.5]])
        unaligned = np.frombuffer(b"x" + x.tobytes(), np.uint8)[1:].view(np.float32)
        self.assertFalse(unaligned.flags.aligned)
        self.equal(binade.quantize(unaligned, "e4m3"), whole.ravel())
        read_only = x.copy()
        read_only.flags.writeable = False
        self.equal(binade.quantize(read_only, "e4m3"), whole)

    @with_ml_dtypes
    def test_out_takes_the_result(self):
        x = numbers(1000, np.float32)
        expected = binade.quantize(x, "e5m2")
        out = np.empty_like(x)
        self.assertIs(binade.quantize(x, "e5m2", out=out), out)
        self.equal(out, expected)
        codes = np.empty(1000, np.uint8)
        self.assertIs(binade.encode(x, "e5m2", out=codes), codes)
        np.testing.assert_array_equal(codes, binade.encode(x, "e5m2"))
        same = x.copy()
        binade.quantize(same, "e5m2", out=same)
        self.equal(same, expected)
        for bad in [np.empty(999, "f"), np.empty(1000, "d"), np.empty(2000, "f")[::2], "out"]:
            with self.assertRaisesRegex((ValueError, TypeError), "out|array"):
                binade.quantize(x, "e5m2", out=bad)
        narrow = np.zeros(1000, ml_dtypes.bfloat16)
        self.assertIs(binade.encode(x, "bfloat16", as_dtype=True, out=narrow), narrow)
        np.testing.assert_array_equal(bits(narrow), binade.encode(x, "bfloat16"))
        with self.assertRaisesRegex(ValueError, "not in C order"):
            binade.encode(x, "bfloat16", as_dtype=True, out=np.zeros(2000, ml_dtypes.bfloat16)[::2])
        x.flags.writeable = False
        with self.assertRaisesRegex(ValueError, "out: an array that is read-only"):
            binade.quantize(expected, "e5m2", out=x)

    @with_ml_dtypes
    def test_ml_dtypes_types_come_and_go(self):
        x = numbers(2000, np.float32)
        for theirs, format in [(ml_dtypes.bfloat16, "bfloat16"), (ml_dtypes.float8_e4m3fn, "e4m3"),
                               (ml_dtypes.float8_e5m2, "e5m2"), (ml_dtypes.float8_e4m3fnuz, "e4m3fnuz"),
                               (ml_dtypes.float8_e8m0fnu, "e8m0"), (ml_dtypes.float8_e5m2fnuz, "e5m2fnuz")]:
            narrow = binade.encode(x, format, as_dtype=True)
            self.assertEqual(narrow.dtype, theirs)
            np.testing.assert_array_equal(bits(narrow), binade.encode(x, format))
            held = format if format == "e8m0" or "fnuz" in format else "e2m1"
            self.equal(binade.quantize(narrow, held).view(f"u{narrow.itemsize}"),
                       binade.encode(binade.quantize(binade.decode(narrow, format), held), format))
            self.equal(binade.decode(narrow, format), binade.decode(bits(narrow), format))
        self.equal(binade.quantize(narrow[::3].reshape(-1, 1), "e2m1"), binade.quantize(narrow, "e2m1")[::3].reshape(-1, 1))
        native = x.astype(ml_dtypes.bfloat16)
        swapped = native.byteswap().view(native.dtype.newbyteorder(">"))
        self.equal(binade.quantize(swapped, "e4m3"), binade.quantize(native, "e4m3"))

    def test_what_cannot_be_read_is_refused(self):
        x = np.float32([1, 2])
        table = [
            (np.array([1, None]), TypeError, "object"),
            (np.array(["a"]), TypeError, "str"),
            (np.complex64([1]), TypeError, "complex64"),
            (np.longdouble([1]), TypeError, "longdouble|float128"),
            (np.int32([1]), TypeError, "int32, not of a floating-point dtype"),
            ("grads.npy", TypeError, "not str"),
            (None, TypeError, "not NoneType"),
        ]
        for value, kind, words in table:
            with self.subTest(words), self.assertRaisesRegex(kind, words) as caught:
                binade.quantize(value, "e4m3")
            self.assertNotIn("\n", str(caught.exception))
        for keywords, words in [({"format": "e4m9x"}, "unknown format 'e4m9x'; did you mean"),
                                ({"rounding": "up"}, "rounding up: no such choice"),
                                ({"flush": "all"}, "flush all: no such choice"),
                                ({"random_bits": 0}, "random_bits 0: stochastic rounding takes"),
                                ({"format": "e8m0", "nan": "nvidia"}, "nan has no effect on e8m0, which has one NaN"),
                                ({"format": "e8m0", "flush": "both"}, '^flush="results" has no effect on e8m0, which has no')]:
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                binade.quantize(x, **{"format": "e4m3", **keywords})
        with self.assertRaisesRegex(ValueError, "integers of 8 bits"):
            binade.decode(np.uint16([1]), "e4m3")
        for codes, format, words in [(np.uint8([1, 0x21]), "e2m1", "element 1, 0x21, has bits beside the 4 of e2m1"),
                                     (np.uint16([0x2780]), "e5m7", "element 0, 0x2780, has bits beside the 13 of e5m7"),
                                     (np.uint8([0xB8]), "ue4m3", "0xb8, has bits beside the 7"),
                                     (np.uint32([0x3F800001]), "tf32", "0x3f800001, has bits beside the 19 of tf32")]:
            with self.subTest(format), self.assertRaisesRegex(ValueError, words):
                binade.decode(codes, format)
        for operands in ([[1, 2]], [np.int64([1])], [np.uint16([1])]):
            with self.assertRaisesRegex(ValueError, "it is an integer of 32 bits, or a number"):
                binade.cvt("cvt.rn.f16.f32", *operands)
        with self.assertRaisesRegex(ValueError, "fma|multiply_add has 3 operands, not 2"):
            binade.arith("fma", x, x, format="e4m3")
        with self.assertRaisesRegex(ValueError, r"shape \(3,\) beside \(2,\)"):
            binade.arith("add", x, np.ones(3, "f"), format="e4m3")

    def test_large_arrays_are_not_copied(self):
        # In a process of its own, whose highest use of memory tells: 400 MB in place, and 100 MB of codes made of it.
        code = (
            "import resource, numpy as np, binade\n"
            "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024\n"
            "x = np.ones(100_000_000, 'f'); binade.quantize(x[:100_000], 'e4m3'); before = peak()\n"
            "binade.quantize(x, 'e4m3', out=x); in_place = peak() - before\n"
            "codes = binade.encode(x, 'e4m3'); print(in_place, peak() - before)\n"
        )
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                             env={**os.environ, "BINADE_THREADS": "2"})
        in_place, encoded = (float(x) for x in ran.stdout.split())
        self.assertLess(in_place, 20)
        self.assertLess(encoded, 120)
        self.assertGreater(encoded, 80)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
