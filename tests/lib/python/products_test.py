# SPDX-License-Identifier: Apache-2.0
#
# Products in Python against the program: the same arrays in files and in memory, and text, JSON, pages and results
# byte for byte; models as values; arrays of other libraries, strided ones, errors, threads, Ctrl-C. Run as
# products_test.py PATH_TO_BINADE with the package on PYTHONPATH; needs NumPy.

import ast
import decimal
import functools
import itertools
import math
import os
import pickle
import signal
import threading
import time

import numpy as np
from cli_case import main
from products_case import FMA, FP8, HOPPER, HOPPER_WORDS, INT8, Products, halves, words

import binade
from binade import GemmModel


D = decimal.Decimal
PI = D("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214808651328230664709384460955")


def stream_k(shape, workers, tile, depth, by_columns=False, shared=None, last=False, groups=1, least=0):
    """The runs of K of each tile of D, as (rows, columns, [(first k, end)]), by giving iterations to workers one at a time."""
    m, n, k = shape
    rows, columns = range(0, m, tile[0]), range(0, n, tile[1])
    tiles = [(i, j) for j in columns for i in rows] if by_columns else [(i, j) for i in rows for j in columns]
    count = -(-k // depth)
    shared = len(tiles) if shared is None else shared
    streamed = tiles[len(tiles) - shared:] if last else tiles[:shared]
    worker_of = {(one, at): None for one in tiles for at in range(count)}
    for group in range(groups):
        line = [(one, at) for one in streamed[group::groups] for at in range(count)]
        members = workers // groups
        budget = [0] * members  # dealt out in turn, so that the first workers have one more
        for i in range(len(line)):
            budget[i % members] += 1
        starts = [sum(budget[:w]) for w in range(members)] + [len(line)]
        for w, start in enumerate(starts):
            if start % count < least:
                starts[w] = start - start % count
            elif start % count > count - least:
                starts[w] = start - start % count + count
        for w in range(members):
            for i in range(starts[w], starts[w + 1]):
                worker_of[line[i]] = (group, w)
    for i, j in tiles:
        of = [worker_of[(i, j), at] for at in range(count)]
        cuts = [0] + [at for at in range(1, count) if of[at] != of[at - 1]] + [count]
        yield (slice(i, i + tile[0]), slice(j, j + tile[1]),
               [(first * depth, min(k, end * depth)) for first, end in zip(cuts, cuts[1:])])


class StreamK(Products):
    CASES = (
        # m, n, k; workers, tile of D, tile of K; the words behind, and what they say
        ((9, 14, 24), 5, (4, 4), 4, "", {}),
        ((9, 14, 23), 5, (4, 4), 4, ":columns", {"by_columns": True}),
        ((70, 40, 10), 7, (16, 32), 1, "", {}),
        ((5, 6, 40), 37, (4, 4), 2, "", {}),  # more workers than tiles, and tiles that no worker does alone
        ((4, 4, 7), 9, (8, 8), 1, "", {}),  # more workers than iterations
        ((12, 12, 16), 9, (4, 4), 4, "", {}),  # a tile each
        ((20, 20, 33), 4, (4, 8), 4, ":first7", {"shared": 7}),
        ((20, 20, 33), 4, (4, 8), 4, ":columns:last6", {"by_columns": True, "shared": 6, "last": True}),
        ((16, 20, 60), 6, (4, 4), 2, ":groups3", {"groups": 3}),
        ((16, 20, 60), 9, (4, 4), 2, ":first14:groups3:least4", {"shared": 14, "groups": 3, "least": 4}),
        ((3, 40, 64), 11, (4, 8), 2, ":least8", {"least": 8}),
        ((3, 9, 16), 2, (1, 1), 16, ":last99", {}),
    )

    def test_every_bit_is_that_of_iterations_given_to_workers_one_by_one(self):
        for shape, workers, tile, depth, words_behind, how in self.CASES:
            with self.subTest(shape=shape, workers=workers, words=words_behind):
                m, n, k = shape
                a, b = halves(1, m, k, dtype=np.float32), halves(2, k, n, dtype=np.float32)
                c = halves(3, m, n, dtype=np.float32)
                wanted, differs = np.zeros((m, n), np.float32), False
                for rows, columns, runs in stream_k(shape, workers, tile, depth, **how):
                    sums = []
                    for first, end in runs:
                        one = np.zeros_like(wanted[rows, columns])
                        for at in range(first, end):
                            one = one + a[rows, at, None] * b[None, at, columns]
                        sums.append(one)
                    differs = differs or any(end - first > 1 for first, end in runs[1:])  # else as a chain adds them
                    wanted[rows, columns] = functools.reduce(np.add, sums) + c[rows, columns]
                model = GemmModel("mul_add.rn.f32.f32.f32.f32", split=f"{workers}:tile{depth}:stream{tile[0]}x{tile[1]}{words_behind}")
                self.assertEqual(pickle.loads(pickle.dumps(model)), model)
                self.same_bits(binade.gemm(a, b, c, model=model), wanted)
                self.assertTrue(binade.validate(a, b, wanted, c, model=model).equal)
                for i, j in ((0, 0), (m - 1, n - 1), (m // 2, n // 3)):
                    last = binade.explain(a, b, c, element=(i, j), model=model).to_dict()["result"]
                    self.assertEqual(int(last["bits"], 16), int(wanted[i, j].view(np.uint32)))
                if differs:
                    self.assertFalse(binade.validate(a, b, wanted, c, model=GemmModel("mul_add.rn.f32.f32.f32.f32")).equal)

    def test_an_account_counts_the_additions_of_parts(self):
        a, b = halves(1, 6, 64), halves(2, 64, 6)  # 9 tiles of 4 iterations on 5 workers, 8 7 7 7 7: 3 cuts inside of tiles
        found = binade.account(a, b, model=GemmModel(*HOPPER, split="5:tile16:stream2x2")).to_dict()
        self.assertEqual({x["rule"]: x["steps"] for x in found["rules"]}["reduction"], 3 * 4)


class Gemm(Products):
    def test_options_without_effect_are_refused_of_a_product_and_of_every_product(self):
        with self.assertRaisesRegex(ValueError, "^partial has no effect without split: leave it out$"):
            GemmModel(*HOPPER, partial="f16")
        with self.assertRaisesRegex(ValueError, "^beta has no effect without C: leave it out$"):
            binade.gemm(self.a, self.b, instruction=HOPPER[0], arch=HOPPER[1], beta=2)
        for option in ("c_first", "round"):
            with self.assertRaisesRegex(ValueError, f"^{option} has no effect on a product of integers, "):
                GemmModel(*INT8, **{option: True})
        plain = binade.gemm(self.a, self.b, model=GemmModel(*HOPPER))
        with_beta = binade.gemm(self.a, self.b, model=GemmModel(*HOPPER, beta=2))  # a model is for products with C, too
        np.testing.assert_array_equal(with_beta, plain)

    def test_every_option_is_the_programs(self):
        self.saved(a=self.a, b=self.b, c=self.c, bias=self.bias)
        plain = binade.gemm(self.a, self.b, model=self.model)
        options = [
            {},
            {"k_order": "descending"},
            {"promote_every": 2},
            {"promote_every": "1:f16"},
            {"split": 2},
            {"split": ["2:16:pairs", "2"], "partial": "f16"},
            {"split": "3:1-2-0", "partial": "bf16", "reduce_in": "f32"},
            {"alpha": 0.5, "beta": -1.25},
            {"alpha": 0.1, "fused": "beta", "epilogue_format": "f32"},
            {"c_first": True},
            {"out_format": "f16", "saturate": True},
            {"out_format": binade.Format("e4m3")},
            {"out_format": "bf16", "out_rounding": "rz"},
            {"out_format": "bf16", "out_rounding": "stochastic", "seed": 2**64 - 1},
            {"out_format": binade.Format("e4m3"), "out_through": "bf16"},
            {"sum_format": "bf16", "relu": True},
            {"bias_first": True, "alpha": 3},
            {"zero_raises": "single"},
            {"floor": -20},
            {"cut_to_zero": "negative"},
        ]
        results = []
        for chosen in options:
            with self.subTest(chosen):
                model = GemmModel(*HOPPER, **chosen)
                theirs = self.product(model, "c", "--bias", "bias")
                mine = binade.gemm(self.a, self.b, self.c, self.bias, model=model)
                self.same_bits(mine, theirs)
                named = {"instruction": HOPPER[0], "arch": HOPPER[1], **chosen}
                by_name = binade.gemm(self.a, self.b, self.c, self.bias, **named)
                self.same_bits(by_name, theirs)
                results.append(mine.tobytes())
        self.assertGreater(len(set(results)), 8, "the options make no difference")
        self.assertNotEqual(plain.tobytes(), results[0], "C and the bias make no difference")

    def test_a_stochastic_d_is_the_quantized_wide_one(self):
        a, b = halves(3, 9, 40), halves(4, 40, 70)  # neither rows nor columns are whole tiles
        wide = binade.gemm(a, b, model=GemmModel(*HOPPER))
        for format, dtype in (("e5m2", np.uint8), ("bf16", np.uint16)):
            model = GemmModel(*HOPPER, out_format=format, out_rounding="stochastic", seed=7)
            self.assertEqual(ast.literal_eval(repr(model).split("seed=")[1][:-1]), 7)
            self.assertEqual(pickle.loads(pickle.dumps(model)), model)
            d = binade.encode(wide, format, rounding="stochastic", seed=7)
            np.testing.assert_array_equal(np.asarray(binade.gemm(a, b, model=model)).view(dtype), np.asarray(d).view(dtype))
            self.assertTrue(binade.validate(a, b, d, model=model).equal)
            other = GemmModel(*HOPPER, out_format=format, out_rounding="stochastic", seed=8)
            checked = binade.validate(a, b, d, model=other)
            self.assertFalse(checked.equal)
            self.assertIn("within the model's own error bound", str(checked))
            last = binade.explain(a, b, element=(8, 69), model=model).to_dict()["steps"][-1]
            self.assertEqual(int(last["result"]["bits"], 16), int(np.asarray(d).view(dtype)[8, 69]))
            self.assertLess(last["random"], 2**32)
        self.assertEqual(binade.account(a, b, model=model).to_dict()["elements"], 630)

    def test_types(self):
        codes = np.random.default_rng(5).integers(0, 120, (5, 64), dtype=np.uint8)
        small = np.random.default_rng(6).integers(-128, 128, (64, 3), dtype=np.int8)
        singles = halves(7, 64, 3, dtype=np.float32)
        cases = [
            (FP8, codes, codes.T.copy(), np.float32),
            (INT8, small.T.copy(), small, np.int32),
            (FMA, singles.T.copy(), singles, np.float32),
            (("mma.m16n8k16.f16.f16.f16.f16", "sm_90"), halves(8, 4, 32), halves(9, 32, 4), np.float16),
            (("mma.m16n8k8.f32.tf32.tf32.f32", "sm_90"), singles.T.copy(), singles, np.float32),
        ]
        for name, a, b, dtype in cases:
            with self.subTest(name):
                self.saved(a=a, b=b)
                mine = binade.gemm(a, b, model=GemmModel(*name))
                self.assertEqual(mine.dtype, dtype)
                self.same_bits(mine, self.product(GemmModel(*name)))

    def test_integers_with_scales_and_zero_points(self):
        rng = np.random.default_rng(7)
        a, b = rng.integers(-128, 128, (6, 40), dtype=np.int8), rng.integers(-128, 128, (40, 5), dtype=np.int8)
        sa, sb, zero = rng.random((6, 1), dtype=np.float32), rng.random(5, dtype=np.float32), np.int8(-3)
        given = {"a_scale": sa, "b_scale": sb, "a_zero_point": zero}
        sums = ((a.astype(np.int32) + 3) @ b.astype(np.int32)).astype(np.float32)
        for order, wanted in (("a-first", sums * sa * sb), ("b-first", sums * sb * sa), ("together", sums * (sa * sb))):
            model = GemmModel(*INT8, scale_order=order, out_format="f32")
            self.same_bits(binade.gemm(a, b, model=model, **given), wanted)
            self.assertTrue(binade.validate(a, b, wanted, model=model, **given).equal)
            found = binade.identify(a, b, wanted, types="f32.s8.s8", arch="sm_80", **given)
            self.assertEqual({x.options for x in found.models}, {model.options})
        exact = binade.explain(a, b, element=(2, 1), model=model, **given).to_dict()["exact"]["double"]
        self.assertEqual(exact, float(sums[2, 1]) * float(sa[2, 0]) * float(sb[1]))
        for use in binade.gemm, binade.account, lambda *x, **y: binade.explain(*x, element=(0, 0), **y):
            with self.assertRaisesRegex(ValueError, "^alpha has no effect with scales, which take its place: leave it out, or put it"):
                use(a, b, model=GemmModel(*INT8, alpha=2, out_format="f32"), a_scale=sa)
        with self.assertRaisesRegex(ValueError, "a zero point of 18446744073709551615; an s32 holds zero points"):
            binade.gemm(a, b, a_zero_point=np.uint64(2**64 - 1), instruction=INT8[0], arch=INT8[1])
        self.same_bits(binade.gemm(a, b, b_scale=np.float32(0.5), instruction=INT8[0], arch=INT8[1]),
                       (a.astype(np.int32) @ b.astype(np.int32)).astype(np.float32) * np.float32(0.5))

    def test_activations_are_the_exact_functions_rounded_once(self):
        with decimal.localcontext() as context:
            context.prec = 120
            erf = lambda z: 2 / PI.sqrt() * sum((-1) ** n * z ** (2 * n + 1) / ((2 * n + 1) * math.factorial(n)) for n in range(450))
            exact = {"gelu": lambda x: x / 2 * (1 + erf(x / D(2).sqrt())), "silu": lambda x: x / (1 + (-x).exp()),
                     "gelu_tanh": lambda x: x / (1 + (-2 * (2 / PI).sqrt() * (x + D("0.044715") * x ** 3)).exp())}
            x = np.float32([-14, -10.5, -5.75, -5.5, -3, -0.75, -1e-3, -1e-45, 3e-45, 0.3, 2.5, 7, -90, 100])
            one = np.float32([[1]])
            for name, function in exact.items():
                mine = binade.gemm(x[:, None], one, instruction=FMA[0], activation=name)[:, 0]
                for value, y in zip(x, mine):
                    if name == "gelu" and abs(value) > 20:
                        self.assertEqual(float(y), max(float(value), 0))
                        continue
                    wanted, near = function(D(float(value))), (np.nextafter(y, np.float32(t)) for t in (-np.inf, np.inf))
                    off = abs(D(float(y)) - wanted)
                    self.assertTrue(all(off <= abs(D(float(z)) - wanted) for z in near), (name, value, y))
        odd = np.float32([[0.0], [-0.0], [np.inf], [-np.inf], [np.nan]])
        for name in exact:
            out = binade.gemm(odd, one, instruction=FMA[0], activation=name)[:, 0]
            self.assertEqual([str(v) for v in out], ["0.0", "0.0", "inf", "nan", "nan"])  # fma(-0, 1, +0) is +0

    def test_a_kernels_activation_is_decided_behind_a_narrow_d_alone(self):
        rng = np.random.default_rng(8)
        a, b = rng.standard_normal((8, 16), np.float32) / 4, rng.standard_normal((16, 24), np.float32)
        sums = binade.gemm(a, b, instruction=FMA[0])
        single = sums * np.float32(0.5) * (1 + np.float32([[math.erf(v) for v in row] for row in sums * np.float32(0.5**0.5)]))
        narrow = binade.validate(a, b, single.astype(np.float16), instruction=FMA[0], activation="gelu")
        self.assertTrue(narrow.equal and narrow.undecided < 10, str(narrow))
        wide = binade.validate(a, b, single, instruction=FMA[0], activation="gelu")
        self.assertEqual((wide.equal, wide.different), (False, 0), str(wide))
        self.assertIn("elements are not decided: they lie within what the formula of gelu gives in f32, at most", str(wide))
        self.assertGreater(binade.validate(a, b, single.astype(np.float16), instruction=FMA[0], activation="silu").different, 9)
        with self.assertRaisesRegex(ValueError, "activation gelu: its steps in f32 are not known"):
            binade.explain(a, b, element=(0, 0), instruction=FMA[0], activation="gelu")
        with self.assertRaisesRegex(ValueError, "activation silo: no such choice; did you mean silu"):
            GemmModel(*FMA, activation="silo")

    def test_rounding_operands(self):
        a, b = self.a.astype(np.float32) + np.float32(2**-14), self.b.astype(np.float64) * 1.0001
        self.saved(a=a, b=b)
        model = GemmModel(*HOPPER, round=True)
        self.same_bits(binade.gemm(a, b, model=model), self.product(model))
        self.same_bits(binade.gemm(a, b, model=self.model, round=True), binade.gemm(a, b, model=model))
        a[2, 3], b[4, 4] = np.inf, np.nan
        self.saved(a=a, b=b)
        self.same_bits(binade.gemm(a, b, model=model), self.product(model))
        with self.assertRaisesRegex(ValueError, r"\Aa: element 0 is .*, no number of binary16; round rounds operands"):
            binade.gemm(a, b, model=self.model)
        tied = np.float32([[1 + 2**-11, -1 - 2**-11]])  # ties of binary16 and the even of it, 1
        column, fma = np.float32([[1], [0]]), "fma.rn.f32.f16.f16.f32"
        for round, wanted in ((True, 1), ("ties_to_away", 1 + 2**-10), ("rna", 1 + 2**-10), ("toward_zero", 1)):
            model = GemmModel(fma, round=round)
            self.assertEqual(binade.gemm(tied, column, model=model)[0, 0], np.float32(wanted), round)
            self.assertEqual(pickle.loads(pickle.dumps(model)), model)
            self.assertEqual(eval(repr(model), {"GemmModel": GemmModel}), model)
        self.assertEqual([GemmModel(fma, round=x).round for x in (False, True, "rn", "rna")], [False, True, True, "ties_to_away"])
        self.assertEqual(str(GemmModel(fma, round="rna")), f"--instruction {fma} --round=ties_to_away")
        with self.assertRaisesRegex(ValueError, "no rounding of operands; there are ties_to_even, "):
            GemmModel(fma, round="stochastic")
        exact = self.a.astype(np.float64)
        self.same_bits(binade.gemm(exact, self.b, model=self.model), binade.gemm(self.a, self.b, model=self.model))

    def test_layouts(self):
        expected = binade.gemm(self.a, self.b, model=self.model)
        self.assertTrue(np.allclose(expected, self.a.astype(float) @ self.b.astype(float), atol=1e-5))
        wide = np.zeros((10, 74), np.float16)
        wide[::2, ::2] = self.a
        for a in (np.asfortranarray(self.a), wide[::2, ::2], self.a[::-1][::-1], self.a.tolist()):
            self.same_bits(binade.gemm(a, self.b, model=self.model), expected)
        turned = binade.gemm(self.a.T, self.b.T.copy(), model=self.model, transpose_a=True, transpose_b=True)
        self.same_bits(turned, expected)
        out = np.empty((5, 7), np.float32)
        self.assertIs(binade.gemm(self.a, self.b, model=self.model, out=out), out)
        self.same_bits(out, expected)
        before = self.a.copy(), self.b.copy()
        self.same_bits(self.a, before[0])
        self.same_bits(self.b, before[1])

    def test_files_stand_for_arrays(self):
        self.saved(a=self.a, b=self.b)
        self.saved(**{"x.npy": self.a, "y.npy": self.b})
        expected = binade.gemm(self.a, self.b, model=self.model)
        self.same_bits(binade.gemm(self.path("x.npy"), self.b, model=self.model), expected)
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(self.folder.name)
        np.save("a", self.b)  # a.npy
        os.replace("a.npy", "b")
        # A file called "b", and an array which the module calls so.
        self.same_bits(binade.gemm(self.a, "b", model=self.model), expected)
        with self.assertRaises(OSError):
            binade.gemm(self.a, "nothing.npy", model=self.model)

    def test_a_file_may_have_the_name_of_an_argument(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder.name)
        with open("a", "wb") as file:
            np.save(file, self.b)
        np.testing.assert_array_equal(binade.gemm(self.a, "a", model=self.model), binade.gemm(self.a, self.b, model=self.model))

    def test_libraries(self):
        try:
            import ml_dtypes
        except ImportError:
            self.skipTest("no ml_dtypes")
        model = GemmModel("mma.m16n8k16.f32.bf16.bf16.f32", "sm_90", out_format="bf16")
        a, b = self.a.astype(ml_dtypes.bfloat16), self.b.astype(ml_dtypes.bfloat16)
        theirs = binade.gemm(a, b, model=model)
        self.assertEqual(theirs.dtype, ml_dtypes.bfloat16)
        bits = binade.gemm(a.view(np.uint16), b.view(np.uint16), model=model)
        self.assertEqual(bits.dtype, np.uint16)
        self.assertEqual(theirs.view(np.uint16).tobytes(), bits.tobytes())
        self.saved(a=a.view(np.uint16), b=b.view(np.uint16))
        self.same_bits(bits, self.product(model))

    def test_torch(self):
        try:
            import torch
        except ImportError:
            self.skipTest("no torch")
        d = binade.gemm(torch.from_numpy(self.a), torch.from_numpy(self.b), model=self.model)
        self.assertIsInstance(d, torch.Tensor)
        self.same_bits(d.numpy(), binade.gemm(self.a, self.b, model=self.model))

    def test_errors(self):
        a, b = self.a, self.b
        table = [
            (ValueError, r"instruction: missing", {}),
            (ValueError, r"\Aarch is missing", {"instruction": HOPPER[0]}),
            (TypeError, r"gemm\(\) has no argument 'promote'", {"promote": 1}),
            (TypeError, r"model has all of them", {"model": self.model, "alpha": 2}),
            (TypeError, r"model: a GemmModel is wanted, not str", {"model": "mma"}),
            (TypeError, r"alpha: a number is wanted", {"instruction": HOPPER[0], "alpha": "x"}),
            (ValueError, r"fused gamma", {"instruction": HOPPER[0], "fused": "gamma"}),
            (ValueError, r"\Aout: shape \(2, 2\)", {"model": self.model, "out": np.empty((2, 2), np.float32)}),
            (ValueError, r"\Ac: shape \(7,\)", {"model": self.model, "c": self.bias}),
        ]
        for kind, line, options in table:
            with self.subTest(options), self.assertRaisesRegex(kind, line) as caught:
                binade.gemm(a, b, **options)
            self.assertNotIn("\n", str(caught.exception))
        with self.assertRaisesRegex(ValueError, r"\Ab: K is 36; A's is 37"):
            binade.gemm(a, b[1:], model=self.model)
        with self.assertRaisesRegex(ValueError, r"\Aa: shape \(37,\); A is a matrix"):
            binade.gemm(a[0], b, model=self.model)
        with self.assertRaises(TypeError):
            binade.gemm(a, None, model=self.model)

    def test_threads(self):
        a, b = halves(11, 200, 300), halves(12, 300, 200)
        other = GemmModel(*HOPPER, promote_every=3)
        expected = [binade.gemm(a, b, model=m).tobytes() for m in (self.model, other)]
        self.assertNotEqual(*expected)
        results = [[], []]

        def work(which):
            model = (self.model, other)[which]
            results[which] = [binade.gemm(a, b, model=model).tobytes() for _ in range(5)]

        threads = [threading.Thread(target=work, args=(which,)) for which in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [[x] * 5 for x in expected])

    def test_interrupt(self):
        everything_differs = np.zeros((1200, 1200), np.float32)
        a, b = halves(13, 1200, 1500), halves(14, 1500, 1200)
        model = GemmModel("fma.rn.f16.f16.f16.f16", split="2:16")
        for work in (lambda: [binade.gemm(a, b, model=model) for _ in range(50)],
                     lambda: binade.account(a, b, model=self.model),
                     lambda: binade.validate(a, b, everything_differs, model=self.model),
                     lambda: binade.identify(a, b, everything_differs)):
            sent = []

            def stop(sent=sent):
                sent.append(time.perf_counter())
                os.kill(os.getpid(), signal.SIGINT)

            timer = threading.Timer(0.5, stop)
            timer.start()
            with self.assertRaises(KeyboardInterrupt):
                work()
            # 100 ms on a quiet machine; this one may do other things.
            self.assertLess(time.perf_counter() - sent[0], 1)


def parameters(function):
    """The names of a function's parameters and their defaults, of its signature, which type checkers read too."""
    signature = ast.parse(function.__nb_signature__[0][0] + ": ...").body[0].args
    return {one.arg: None if default is None else ast.literal_eval(default)
            for one, default in zip(signature.kwonlyargs, signature.kw_defaults)}


class Models(Products):
    def test_signatures_name_the_options_of_a_model(self):
        model = parameters(binade.GemmModel.__init__)
        self.assertIn("epilogue_format", model)
        a = np.ones((16, 16), np.float16)
        d, which = binade.gemm(a, a, **HOPPER_WORDS), {"instruction": None, "arch": None}
        for function, call in ((binade.gemm, lambda o: binade.gemm(a, a, **o)),
                               (binade.account, lambda o: binade.account(a, a, **o)),
                               (binade.validate, lambda o: binade.validate(a, a, d, **o)),
                               (binade.explain, lambda o: binade.explain(a, a, element=(0, 0), **o))):
            named = parameters(function)
            self.assertEqual({key: named.get(key) for key in model | which}, model | which)
            self.assertEqual(str(call(HOPPER_WORDS | model)), str(call(HOPPER_WORDS)))
        dot = parameters(binade.dot)
        self.assertEqual(set(dot), {"model", "instruction", "arch", "zero_raises", "floor", "cut_to_zero", "a_scale", "b_scale", "out"})
        self.assertEqual(binade.dot(a[0], a[0], **(dot | HOPPER_WORDS)), 16)

    def test_values(self):
        spelled = [
            GemmModel(*HOPPER, promote_every=4, split=["2:16:pairs", 2], alpha=0.1),
            GemmModel(*HOPPER, promote_every="4:f32", split=("2:16:pairs", "2:ascending"), alpha=0.1, beta=1),
        ]
        self.assertEqual(*spelled)
        self.assertEqual(len(set(spelled)), 1)
        ruled = GemmModel(*FP8, floor=-126, round=True, saturate=True, out_format="e5m2")
        for model in (*spelled, GemmModel(*FMA), ruled):
            self.assertEqual(pickle.loads(pickle.dumps(model)), model)
            self.assertEqual(eval(repr(model)), model)
            self.assertEqual(str(eval(repr(model))), str(model))
        self.assertEqual(str(spelled[1]), "--arch sm_90 --instruction mma.m16n8k16.f32.f16.f16.f32 --promote-every 4 "
                                          "--split 2:16:pairs --split 2 --alpha 0.1")
        different = [GemmModel(*HOPPER), GemmModel(*HOPPER, round=True), GemmModel(*HOPPER, floor=-126),
                     GemmModel(*FMA), GemmModel(HOPPER[0], "sm_80"), GemmModel(*HOPPER, c_first=True)]
        for x, y in itertools.combinations(different, 2):
            self.assertNotEqual(x, y)
        self.assertEqual((GemmModel(*FMA).arch, spelled[0].arch, GemmModel(*HOPPER).options), (None, "sm_90", ""))
        self.assertNotEqual(spelled[0], "mma")

    def test_errors(self):
        for kind, line, arguments, options in [
            (ValueError, "has no instruction 'mma.nothing'", ("mma.nothing", "sm_90"), {}),
            (ValueError, "split '1' is not PARTS", HOPPER, {"split": 1}),
            (ValueError, "promote_every '0' is not N", HOPPER, {"promote_every": 0}),
            (ValueError, "is no fused sum", FMA, {"floor": -126}),
            (TypeError, "has no argument 'bias'", HOPPER, {"bias": 1}),
            (TypeError, "partial: text or a whole number is wanted, not float", HOPPER, {"partial": 1.5}),
        ]:
            with self.subTest(line), self.assertRaisesRegex(kind, line):
                GemmModel(*arguments, **options)


class Accounts(Products):
    def test_is_the_programs(self):
        self.saved(a=self.a, b=self.b, c=self.c)
        x = binade.account(self.a, self.b, self.c, model=self.model)
        self.assertEqual(str(x), self.good("gemm", "a", "b", "c", *words(self.model), "--account", "x.json"))
        self.assertEqual(x.to_json().encode(), self.read("x.json"))
        self.good("gemm", "a", "b", "c", *words(self.model), "--account", "x.html")
        self.assertEqual(x.to_html().encode(), self.read("x.html"))
        for name in ("mine.html", "mine.json", "mine.txt"):
            x.save(self.path(name))
        self.assertEqual((self.read("mine.html"), self.read("mine.json")), (self.read("x.html"), self.read("x.json")))
        self.assertEqual(self.read("mine.txt").decode(), str(x))
        with self.assertRaisesRegex(ValueError, "name it .html"):
            x.save(self.path("mine.png"))
        html = x._repr_html_()
        self.assertLess(len(html), 200_000)
        self.assertIn("Σ|lost|", html)
        self.assertEqual(pickle.loads(pickle.dumps(x)), x)

    def test_errors(self):
        with self.assertRaisesRegex(ValueError, "account tells .* leave zero_raises out"):
            binade.account(self.a, self.b, model=GemmModel(*HOPPER, zero_raises="single"))


if __name__ == "__main__":
    main()
