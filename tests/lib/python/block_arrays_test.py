# SPDX-License-Identifier: Apache-2.0
"""quantize(), encode() and decode() of block formats, and `binade quantize`: which elements share a scale, in arrays of any
shape along any axis, and how files hold codes and scales. Each block is cut out by loops over indices and held to
tests/oracle/block_rules.py; values to fractions.

    python block_arrays_test.py BINADE
"""

import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from fractions import Fraction

import numpy as np
from safetensors.numpy import load_file, save_file

import binade
from cli_case import environment, main
from oracle import block_rules as oracle
from oracle.block_rules import ELEMENTS

BINADE = os.path.abspath(sys.argv[1])
# Format → (rows, elements along K) of a block, None where it is all; scale, tensor scale and elements as the oracle names them.
FORMATS = {
    "mxfp4": ((1, 32), "e8m0", False, "e2m1"),
    "mxfp8_e4m3": ((1, 32), "e8m0", False, "e4m3"),
    "mxint8": ((1, 32), "e8m0", False, "int8"),
    "nvfp4": ((1, 16), "ue4m3", True, "e2m1"),
    "nvfp4_2d": ((16, 16), "ue4m3", True, "e2m1"),
    "fp8_128x128": ((128, 128), "binary32", False, "e4m3"),
    "fp8_row": ((1, None), "binary32", False, "e4m3"),
    "fp8_column": ((None, 1), "binary32", False, "e4m3"),
    "fp8_tensor": ((None, None), "binary32", False, "e4m3"),
    "e3m2:block=2x5:scale=e8m0": ((2, 5), "e8m0", False, "e3m2"),
}


def numbers(shape, seed):
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal(shape) * np.exp2(rng.integers(-12, 12, shape))).astype(np.float32)
    x[rng.random(shape) < 0.05] = 0
    return x


def bits(x):
    return [int(y) for y in np.asarray(x, np.float32).reshape(-1).view(np.uint32)]


def blocks(shape, size, axis):
    """Index of the scale, and indices of the elements in C order, of each block."""
    along, rows = axis % len(shape), None
    if size == (None, None):
        yield (), list(itertools.product(*map(range, shape)))
        return
    if size[0] != 1:
        rows = len(shape) - 1 if along == len(shape) - 2 else len(shape) - 2
    of = {}
    for index in itertools.product(*map(range, shape)):
        place = list(index)
        place[along] = 0 if size[1] is None else index[along] // size[1]
        if rows is not None and rows >= 0:
            place[rows] = 0 if size[0] is None else index[rows] // size[0]
        of.setdefault(tuple(place), []).append(index)
    yield from of.items()


def value(element, code):
    """The exact value of an element in units of its block's scale."""
    if element.integer:
        return Fraction(code - 256 if code & 0x80 else code, 64)
    return (-1) ** bool(code & element.sign) * Fraction(element.magnitudes[code & element.sign - 1])


def scale_value(scale, stored):
    if scale == "e8m0":
        return Fraction(2) ** (int(stored) - 127)
    return Fraction(float(stored)) if scale == "binary32" else Fraction(oracle.E4M3.magnitudes[int(stored)])


class BlockArrays(unittest.TestCase):
    def check(self, name, shape, axis, rule):
        size, scale, tensor, element_name = FORMATS[name]
        element, x = ELEMENTS[element_name], numbers(shape, len(name) + axis)
        (codes, scales, tensor_scale), counts = binade.encode(x, name, axis=axis, scale_rule=rule, counts=True)
        self.assertEqual((codes.shape, codes.dtype), (x.shape, np.uint8))
        tensor_amax = max(y & oracle.MAGNITUDE for y in bits(x))
        exact, seen = np.empty(shape, object), 0
        for place, indices in blocks(shape, size, axis):
            want = oracle.RULES[rule, scale, tensor, element_name](bits([x[i] for i in indices]), element_name, tensor_amax)
            stored = bits(scales[place])[0] if scale == "binary32" else int(scales[place])
            self.assertEqual(stored, want.scale, (name, shape, axis, place))
            self.assertEqual([int(codes[i]) for i in indices], want.codes, (name, shape, axis, place))
            if want.tensor is not None:
                self.assertEqual(bits(tensor_scale), [want.tensor])
            for i in indices:
                exact[i] = value(element, int(codes[i])) * scale_value(scale, scales[place]) * Fraction(tensor_scale)
            seen += 1
        self.assertEqual((scales.size, counts["scales"]["blocks"], counts["elements"].values), (seen, seen, x.size))
        full = seen * (size[0] or 1) * (size[1] or 1)
        if None not in size:
            self.assertEqual(counts["scales"]["padding"], full - x.size)
        given = {"axis": axis} if size != (None, None) else {}
        decoded = binade.decode(codes, name, scales=scales, **given, **({"tensor_scale": tensor_scale} if tensor else {}))
        self.assertTrue(all(Fraction(float(a)) == b for a, b in zip(decoded.reshape(-1), exact.reshape(-1))))
        wide = binade.quantize(x.astype(np.float64), name, scale_rule=rule, **given)
        self.assertEqual(wide.dtype, np.float64)
        self.assertTrue(all(Fraction(a) == b for a, b in zip(wide.reshape(-1).tolist(), exact.reshape(-1))))
        narrow = binade.quantize(x, name, scale_rule=rule, **given)
        self.assertEqual(narrow.dtype, np.float32)
        self.assertEqual(bits(narrow), bits(wide.astype(np.float32)))

    def test_blocks_lie_along_the_axis_and_the_last_ones_may_be_short(self):
        self.check("mxfp4", (3, 70), -1, "ocp")
        self.check("mxfp4", (70, 3), 0, "torchao_even")
        self.check("mxfp4", (2, 33, 3), 1, "torchao_rceil")
        self.check("mxfp8_e4m3", (33,), -1, "te")
        self.check("mxint8", (2, 40), -1, "ocp")
        self.check("nvfp4", (5, 37), -1, "te")
        self.check("nvfp4", (37, 2, 2), 0, "modelopt")
        self.check("nvfp4", (3, 32), 1, "te_4over6")

    def test_blocks_of_several_rows_lie_in_the_last_two_axes(self):
        self.check("nvfp4_2d", (2, 17, 20), -1, "te")
        self.check("nvfp4_2d", (18, 35), 0, "torchao")
        self.check("nvfp4_2d", (20, 33), -1, "te_4over6_mse")
        self.check("fp8_128x128", (130, 129), -1, "deepgemm")
        self.check("e3m2:block=2x5:scale=e8m0", (3, 5, 12), -1, "ocp")
        self.check("e3m2:block=2x5:scale=e8m0", (2, 12, 5), -2, "torchao_ceil")

    def test_rows_columns_and_tensors(self):
        self.check("fp8_row", (4, 9), -1, "torchao")
        self.check("fp8_row", (4, 9), 0, "te")
        self.check("fp8_column", (4, 9), -1, "torchao_inference")
        self.check("fp8_column", (2, 3, 4), -1, "deepgemm")
        self.check("fp8_tensor", (2, 3, 4), -1, "vllm")

    def test_arrays_without_elements_or_axes(self):
        for name, shape in itertools.product(FORMATS, ((0, 32), (3, 0), (0,), ())):
            x = np.ones(shape, np.float32)
            (codes, scales, tensor_scale), counts = binade.encode(x, name, counts=True)
            if x.size == 0:
                self.assertEqual(counts["scales"]["padding"], 0, (name, shape))
            one = x.ndim == 0 or name == "fp8_tensor"
            self.assertEqual((codes.shape, scales.size), (x.shape, int(one)), (name, shape))
            given = {"tensor_scale": tensor_scale} if FORMATS[name][2] else {}
            back = binade.decode(codes, name, scales=scales, **given)
            self.assertEqual((back.shape, bool(np.all(back.astype(np.float32) == 1))), (x.shape, True), name)

    def test_pieces_and_threads_change_nothing(self):
        # Larger than the pieces that a thread takes: a block that many share, and many blocks; the parts give the whole.
        x = numbers((3, 40000), 1)
        x[1, 39999] = 3e5
        for name, rule in (("fp8_tensor", "te"), ("fp8_row", "deepgemm"), ("fp8_column", "te")):
            codes, scales, _ = binade.encode(x, name, scale_rule=rule)
            step = {"fp8_tensor": 0, "fp8_row": 1, "fp8_column": 0}[name]
            amax = {"fp8_tensor": np.abs(x).max(), "fp8_row": np.abs(x).max(1, keepdims=True),
                    "fp8_column": np.abs(x).max(0, keepdims=True)}[name]
            chosen = [0, 1, 32767, 32768, 39999]
            for i, j in itertools.product(range(3), chosen):
                a = amax if name == "fp8_tensor" else amax[i, 0] if step else amax[0, j]
                want = oracle.RULES[rule, "binary32", False, "e4m3"](bits([a, x[i, j]]), "e4m3", 0)
                got = scales[()] if name == "fp8_tensor" else scales[i, 0] if step else scales[0, j]
                self.assertEqual((bits(got)[0], int(codes[i, j])), (want.scale, want.codes[1]))
        x = numbers((70, 5000), 2)
        whole = binade.encode(x, "mxfp4", rounding="stochastic", seed=3)
        part = binade.encode(x[:10], "mxfp4", rounding="stochastic", seed=3)
        self.assertTrue(np.array_equal(whole[0][:10], part[0]) and np.array_equal(whole[1][:10], part[1]))
        self.assertFalse(np.array_equal(whole[0], binade.encode(x, "mxfp4")[0]))
        line = numbers((40000,), 3)  # in two pieces, of which the second goes on in the random words
        one, lines = (binade.encode(y, "mxfp4", rounding="stochastic", seed=4)[0] for y in (line, line.reshape(1250, 32)))
        self.assertTrue(np.array_equal(one, lines.reshape(-1)))

    def test_an_amax_of_the_tensor_is_rounded_to_binary32(self):
        x = numbers((2, 32), 3)
        made = [binade.encode(x, "nvfp4", tensor_amax=amax) for amax in (0.1, float(np.float32(0.1)), 0.2)]
        self.assertEqual([made[0][2] == one[2] for one in made], [True, True, False])
        self.assertTrue(np.array_equal(made[0][1], made[1][1]))

    def test_packed_codes_fill_bytes_along_the_last_axis(self):
        x = numbers((2, 3, 64), 5)
        for name, axis in itertools.product(("mxfp4", "nvfp4", "mxfp6_e3m2", "mxfp6_e2m3"), (-1, 0)):
            codes, scales, tensor_scale = binade.encode(x, name, axis=axis)
            packed, *others = binade.encode(x, name, axis=axis, packed=True)
            of_codes = 4 if "fp4" in name else 6
            bits = np.unpackbits(codes[..., None], axis=-1, bitorder="little")[..., :of_codes]
            wanted = np.packbits(bits.reshape(2, 3, -1), axis=-1, bitorder="little")
            self.assertTrue(np.array_equal(packed, wanted), name)
            self.assertTrue(np.array_equal(others[0], scales) and others[1] == tensor_scale, name)
            given = {"scales": scales, "axis": axis, **({"tensor_scale": tensor_scale} if name == "nvfp4" else {})}
            back = binade.decode(packed, name, packed=True, **given)
            self.assertTrue(np.array_equal(back, binade.decode(codes, name, **given)), name)

    def test_what_has_no_effect_and_what_does_not_fit_is_refused(self):
        x, codes, scales = np.ones((2, 32), np.float32), np.zeros((2, 32), np.uint8), np.zeros((2, 1), np.uint8)
        for words, call in {
            "axis 2: a tensor of 2 axes": lambda: binade.quantize(x, "mxfp4", axis=2),
            "unknown scale rule 'no'": lambda: binade.encode(x, "mxfp4", scale_rule="no"),
            "tensor_amax has no effect with mxfp4": lambda: binade.encode(x, "mxfp4", tensor_amax=1.0),
            "scale_rule has no effect without a block format": lambda: binade.quantize(x, "e4m3", scale_rule="te"),
            "saturation has no effect": lambda: binade.quantize(x, "mxfp4", saturation="finite"),
            "give scales=": lambda: binade.decode(codes, "mxfp4"),
            "tensor_scale: a negative number": lambda: binade.decode(
                codes, "nvfp4", scales=np.zeros((2, 2), np.uint8), tensor_scale=-1.0),
            "give tensor_scale=": lambda: binade.decode(codes, "nvfp4", scales=np.zeros((2, 2), np.uint8)),
            "have scales of shape (2, 1)": lambda: binade.decode(codes, "mxfp4", scales=scales.T),
            "scale 0 has bits beside the 7": lambda: binade.decode(
                codes, "nvfp4", scales=np.full((2, 2), 0xB8, np.uint8), tensor_scale=1.0),
            "tensor_amax: a largest magnitude": lambda: binade.encode(x, "nvfp4", tensor_amax=-3.0),
            "bits beside the 4 of a code": lambda: binade.decode(codes + 16, "mxfp4", scales=scales),
            "give packed=True": lambda: binade.decode(binade.encode(x, "mxfp4", packed=True)[0], "mxfp4", scales=binade.encode(x, "mxfp4")[1]),
            "fp8_tensor, which has one scale for the tensor": lambda: binade.encode(x, "fp8_tensor", axis=0),
            "packed has no effect without a block format": lambda: binade.encode(x, "e2m1", packed=True),
            "packed has no effect with mxfp8_e4m3": lambda: binade.encode(x, "mxfp8_e4m3", packed=True),
            "a last axis of 3 codes is no multiple of 2": lambda: binade.encode(x[:, :3], "mxfp4", packed=True),
            "a last axis of 32 bytes is no multiple of 3": lambda: binade.decode(codes, "mxfp6_e3m2", scales=scales, packed=True),
            "several rows lie in the last two axes": lambda: binade.quantize(np.ones((2, 2, 2), "f"), "nvfp4_2d", axis=0),
        }.items():
            with self.assertRaises(ValueError) as raised:
                call()
            self.assertIn(words, str(raised.exception))


class Files(unittest.TestCase):
    """What `binade quantize` writes is what Python gives."""

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.x = {"fc.weight": numbers((130, 67), 5), "fc.bias": numbers((9,), 6), "none": np.ones((0, 5), np.float32)}
        save_file(self.x | {"ids": np.arange(3)}, f"{self.folder}/in.safetensors")

    def quantized(self, *options):
        out = f"{self.folder}/out.safetensors"
        done = subprocess.run([BINADE, "quantize", f"{self.folder}/in.safetensors", out, *options], capture_output=True,
                              text=True, env=environment())
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertIn("skipped ids", done.stdout)
        self.assertIn("scales by ", done.stdout)
        raw = pathlib.Path(out).read_bytes()
        header = json.loads(raw[8:8 + int.from_bytes(raw[:8], "little")])
        base = 8 + int.from_bytes(raw[:8], "little")
        parts = {name: raw[slice(*(base + at for at in row["data_offsets"]))] for name, row in header.items() if "shape" in row}
        shapes = {name: (row["dtype"], tuple(row["shape"])) for name, row in header.items() if "shape" in row}
        return parts, shapes, out

    def test_values(self):
        _, _, out = self.quantized("--format", "nvfp4", "--scale-rule", "te")
        for name, got in load_file(out).items():
            self.assertEqual(bits(got), bits(binade.quantize(self.x[name], "nvfp4", scale_rule="te")))

    def test_codes_by_the_names_of_stacks(self):
        parts, shapes, _ = self.quantized("--format", "nvfp4", "--encode", "--layout", "modelopt")
        codes, scales, tensor = binade.encode(self.x["fc.weight"], "nvfp4", scale_rule="modelopt")
        self.assertEqual(shapes["fc.weight"], ("U8", (130, 34)))
        self.assertEqual(shapes["fc.weight_scale"], ("F8_E4M3", (130, 5)))
        padded = np.pad(codes, ((0, 0), (0, 1)))
        self.assertEqual(parts["fc.weight"], (padded[:, ::2] | padded[:, 1::2] << 4).tobytes())
        self.assertEqual(parts["fc.weight_scale"], scales.tobytes())
        self.assertEqual(parts["fc.weight_scale_2"], np.float32(tensor).tobytes())
        for layout, names in {"compressed-tensors": ("fc.weight_packed", "fc.weight_scale", "fc.weight_global_scale"),
                              "torchao": ("fc._weight_qdata", "fc._weight_scale", "fc._weight_per_tensor_scale"),
                              "te": ("fc.weight._rowwise_data", "fc.weight._rowwise_scale_inv", "fc.weight._amax_rowwise")}.items():
            parts, shapes, _ = self.quantized("--format", "nvfp4", "--encode", "--layout", layout)
            self.assertLessEqual(set(names), set(parts), layout)
            if layout == "compressed-tensors":  # the factor of the elements, not of their values
                factor = np.float32(1) / np.abs(self.x["fc.weight"]).max() * np.float32(2688)
                self.assertEqual(parts["fc.weight_global_scale"], factor.tobytes())
        self.assertEqual(parts["fc.weight._amax_rowwise"], np.abs(self.x["fc.weight"]).max().tobytes())
        self.assertEqual((shapes["fc.weight._rowwise_scale_inv"], shapes["fc.weight._amax_rowwise"]), (("U8", (256, 8)), ("F32", (1,))))
        _, shapes, _ = self.quantized("--format", "mxfp8_e4m3", "--encode", "--layout", "modelopt")
        self.assertEqual((shapes["fc.weight"][0], shapes["fc.weight_scale"][0]), ("F8_E4M3", "U8"))
        parts, shapes, _ = self.quantized("--format", "fp8_128x128", "--encode", "--layout", "deepseek")
        codes, scales, _ = binade.encode(self.x["fc.weight"], "fp8_128x128", scale_rule="deepseek")
        self.assertEqual(shapes["fc.weight_scale_inv"], ("F32", (2, 1)))
        self.assertEqual((parts["fc.weight"], parts["fc.weight_scale_inv"]), (codes.tobytes(), scales.tobytes()))

    def test_orders_of_scales(self):
        _, scales, _ = binade.encode(self.x["fc.weight"], "mxfp8_e4m3")  # 130 rows of 3 scales
        rows, columns = scales.shape

        def of_pytorch_blocked(x):  # as torchao's to_blocked writes it
            x = np.pad(x, ((0, 126), (0, 1)))
            tiles = x.reshape(2, 128, 1, 4).transpose(0, 2, 1, 3).reshape(-1, 4, 32, 4)
            return tiles.transpose(0, 2, 1, 3).reshape(-1)

        def of_words(x):  # DeepGEMM: words of four columns, along rows that are filled up to four
            x = np.pad(x, ((0, 2), (0, 1)))
            return x.reshape(132, 1, 4).transpose(1, 0, 2).reshape(-1)

        def of_aiter(x):  # the permutation of aiter's shuffle
            x = np.pad(x, ((0, 126), (0, 5)))
            return x.reshape(8, 2, 16, 1, 2, 4).transpose(0, 3, 5, 2, 4, 1).reshape(-1)

        def of_8x4(x):
            x = np.pad(x, ((0, 6), (0, 1)))
            return x.reshape(17, 8, 1, 4).transpose(0, 2, 1, 3).reshape(-1)

        _, shapes, _ = self.quantized("--format", "fp8_tensor", "--encode")
        self.assertEqual((shapes["none"], shapes["none_scale"]), (("F8_E4M3", (0, 5)), ("F32", ())))
        for layout, wanted in {"row_major": lambda x: x.reshape(-1), "128x4": of_pytorch_blocked, "8x4": of_8x4,
                               "deepgemm": of_words, "aiter": of_aiter,
                               "te": lambda x: np.pad(x, ((0, 126), (0, 1))).reshape(-1)}.items():
            parts, _, _ = self.quantized("--format", "mxfp8_e4m3", "--encode", "--scale-layout", layout)
            self.assertEqual(parts["fc.weight_scale"], wanted(scales).tobytes(), layout)

    def test_what_a_stack_does_not_have_is_refused(self):
        for words, options in {
            "no order of the scales of fp8_1x128; choose row_major or te_1d": ("--format", "fp8_1x128", "--scale-layout", "deepgemm"),
            "are of blocks along the last axis": ("--format", "nvfp4", "--layout", "te", "--axis", "0"),
        }.items():
            out = f"{self.folder}/none.safetensors"
            done = subprocess.run([BINADE, "quantize", f"{self.folder}/in.safetensors", out, "--encode", *options],
                                  capture_output=True, text=True)
            self.assertEqual((done.returncode, words in done.stderr, pathlib.Path(out).exists()), (2, True, False), done.stderr)


if __name__ == "__main__":
    main()
