# SPDX-License-Identifier: Apache-2.0
"""Products whose runs of K share scales, held to an oracle that shares no code with them (tests/oracle/scaled_products.py):
promotions by scales in every order, and what validate and identify say of products that stacks would make, right ones and ill
ones."""
import sys
import unittest
from pathlib import Path

import numpy as np

from cli_case import main

import binade

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "oracle"))
import scaled_products as oracle  # noqa: E402

INSTRUCTION = {"instruction": "wgmma.m64n8k32.f32.e4m3.e4m3", "arch": "sm_90"}
HOPPER = oracle.wgmma_fp8("e4m3", "e4m3")
ORDERS = {name: ("" if name.startswith("fma") else ":rounded") for name in oracle.PROMOTIONS}


def option(name):
    """binade's word for an order of the oracle."""
    order = "together" if name.endswith("together") else name[-7:].replace("_", "-")
    return order + ORDERS[name]


def float_words(x):
    return np.ascontiguousarray(x, np.float32).view(np.uint32)


def drawn(seed, m, n, k, specials=False):
    """A, (m, k), and B, (n, k), as codes of e4m3, and binary32 scales of 1 × 128 and of 128 × 128."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 256, (m + n, k), np.uint8)
    codes[codes % 128 == 127] = 0x7E
    codes = np.where(rng.random(codes.shape) < 0.9, codes & 0xC7 | 0x30, codes).astype(np.uint8)  # most are near 1
    if specials:
        codes[rng.integers(0, m + n, 3), rng.integers(0, k, 3)] = 0x7F
    runs = -(-k // 128)
    scale_a = np.exp2(rng.normal(0, 3, (m, runs))).astype(np.float32)
    scale_b = np.exp2(rng.normal(0, 3, (-(-n // 128), runs))).astype(np.float32)
    return codes[:m], codes[m:], scale_a, scale_b


def by_oracle(a, b, scale_a, scale_b, how, interval=128, dot=HOPPER):
    out = np.empty((len(a), len(b)), np.uint32)
    words_a, words_b = float_words(scale_a), float_words(scale_b)
    for i, row in enumerate(a.tolist()):
        for j, column in enumerate(b.tolist()):
            out[i, j] = oracle.promoted_product(row, column, words_a[i].tolist(), words_b[j // 128].tolist(), dot, interval, 128,
                                                how)
    return out


class PromotedProducts(unittest.TestCase):
    def test_each_order_equals_the_oracle(self):
        for seed, (name, interval) in enumerate(zip(oracle.PROMOTIONS, (128, 64, 32, 128, 128, 64))):
            with self.subTest(name, interval=interval):
                a, b, scale_a, scale_b = drawn(seed, 3, 5, 300, specials=seed % 2 == 1)
                got = binade.gemm(a, b, transpose_b=True, a_scale=scale_a, b_scale=scale_b, promote_every=interval // 32,
                                  promote_scales=option(name), **INSTRUCTION)
                np.testing.assert_array_equal(float_words(got), by_oracle(a, b, scale_a, scale_b, name, interval))

    def test_scales_lie_as_their_matrix_does_and_in_every_layout(self):
        a, b, scale_a, _ = drawn(9, 5, 6, 256)
        scale_b = np.exp2(np.random.default_rng(3).integers(-3, 4, (6, 2))).astype(np.float32)
        scale_a = np.exp2(np.rint(np.log2(scale_a))).astype(np.float32)
        plain = binade.gemm(a, b.T.copy(), a_scale=scale_a, b_scale=scale_b.T.copy(), **INSTRUCTION)
        same = [dict(a_scale=scale_a, b_scale=scale_b, scale_run=128),
                dict(a_scale=(scale_a.view(np.uint32) >> 23).astype(np.uint8),
                     b_scale=(scale_b.view(np.uint32) >> 23).astype(np.uint8))]
        places = {"128x4": lambda rows: [oracle.swizzled_128x4(r, c, rows, 2) for r in range(rows) for c in range(2)]}
        swizzled = []
        for scales in (scale_a, scale_b):
            laid = np.zeros(512, np.uint8)
            laid[places["128x4"](len(scales))] = (scales.view(np.uint32) >> 23).astype(np.uint8).ravel()
            swizzled.append(laid)
        same.append(dict(a_scale=swizzled[0], b_scale=swizzled[1], scale_layout="128x4", scale_run=128))
        packed = []
        for scales in (scale_a, scale_b):
            words = np.zeros(8, np.uint32)
            for r in range(len(scales)):
                for c in range(2):
                    at, byte = oracle.deepgemm_ue8m0(r, c, len(scales), 2)
                    words[at] |= int(scales.view(np.uint32)[r, c] >> 23) << 8 * byte
            packed.append(words.view(np.int32))
        same.append(dict(a_scale=packed[0], b_scale=packed[1], scale_layout="deepgemm", scale_run=128))
        columns = np.ones((2, 8), np.float32)
        columns[:, :5] = scale_a.T
        rows = np.ones((6, 4), np.float32)
        rows[:, :2] = scale_b
        same.append(dict(a_scale=columns, b_scale=rows, scale_layout="te_1d,te_2d", scale_run=128))
        for given in same:
            with self.subTest(given.get("scale_layout", "row_major")):
                np.testing.assert_array_equal(binade.gemm(a, b, transpose_b=True, **given, **INSTRUCTION), plain)
        wide = drawn(10, 1, 200, 256)[1]
        tiles = np.zeros((2, 4), np.float32)  # of 128 columns of B each
        tiles[:, :2] = scale_b[:2]
        np.testing.assert_array_equal(
            binade.gemm(a, wide, transpose_b=True, a_scale=columns, b_scale=tiles, scale_layout="te_1d,te_2d", scale_run=128,
                        **INSTRUCTION),
            binade.gemm(a, wide, transpose_b=True, a_scale=scale_a, b_scale=scale_b[:2], **INSTRUCTION))
        halved = binade.gemm(a, b, transpose_b=True, alpha=0.5, **same[0], **INSTRUCTION)
        np.testing.assert_array_equal(halved, plain * np.float32(0.5))
        doubled = binade.gemm(a, b, transpose_b=True, a_tensor_scale=2, b_tensor_scale=np.float32(0.25), **same[0], **INSTRUCTION)
        np.testing.assert_array_equal(doubled, plain * np.float32(0.5))

    def test_one_run_of_k_is_of_blocks_beside_blocks(self):
        a, b, scale_a, scale_b = drawn(11, 3, 200, 100)
        d = binade.gemm(a, b, transpose_b=True, a_scale=scale_a, b_scale=scale_b, **INSTRUCTION)
        np.testing.assert_array_equal(float_words(d), by_oracle(a, b, scale_a, scale_b, "fma_together"))
        narrow = by_oracle(a, b[:100], scale_a, scale_b[:1], "fma_together")  # scales of (3, 1) and (1, 1)
        d = binade.gemm(a, b[:100].copy(), transpose_b=True, a_scale=scale_a, b_scale=scale_b[:1], **INSTRUCTION)
        np.testing.assert_array_equal(float_words(d), narrow)
        rows = np.float32([2, 3, 5]).reshape(3, 1)  # beside those of each column: of lines, which the finished sum is multiplied by
        d = binade.gemm(a, b, transpose_b=True, a_scale=rows, b_scale=np.ones((1, 200), "f"), **INSTRUCTION)
        np.testing.assert_array_equal(d, binade.gemm(a, b, transpose_b=True, **INSTRUCTION) * rows)

    def test_scales_of_several_runs_of_an_instruction(self):
        """DeepGEMM's sm_100 kernels: one e8m0 for four instructions of 32 elements, and of A's 128 beside B's 32."""
        rng = np.random.default_rng(12)
        how = {"instruction": "tcgen05.m128n256k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.ue8m0", "arch": "sm_100",
               "transpose_b": True}
        a, b = (rng.integers(0, 126, (lines, 320)).astype(np.uint8) for lines in (5, 6))
        scale_a, scale_b = (rng.integers(120, 130, (lines, runs)).astype(np.uint8) for lines, runs in ((5, 3), (6, 10)))
        repeated = scale_a.repeat(4, 1)[:, :10]
        expected = binade.gemm(a, b, a_scale=repeated, b_scale=scale_b, **how)
        for given in ({}, {"scale_run": "128,32"}):
            np.testing.assert_array_equal(binade.gemm(a, b, a_scale=scale_a, b_scale=scale_b, **given, **how), expected)
        found = binade.identify(a, b, expected, a_scale=scale_a, b_scale=scale_b, transpose_b=True, types="f32.e4m3.e4m3", arch="sm_100")
        self.assertIn("mxf8f6f4.block_scale", str(found).partition("Nearest")[0])
        narrow = np.asarray(binade.gemm(a, b, a_scale=repeated, b_scale=scale_b, out_format="bf16", **how)).view(np.uint16)
        found = binade.identify(a, b, narrow, a_scale=repeated, b_scale=scale_b, transpose_b=True, types="bf16.e4m3.e4m3", arch="sm_100")
        self.assertEqual(found.conclusion, "several")
        self.assertIn("block_scale", found.to_dict()["explain"][0]["command"])  # first of all that are left
        coarse_b = scale_b[:, ::4].copy()
        d = binade.gemm(a, b, a_scale=repeated, b_scale=coarse_b.repeat(4, 1)[:, :10], **how)
        found = binade.identify(a, b, d, a_scale=scale_a, b_scale=coarse_b, transpose_b=True, types="f32.e4m3.e4m3", arch="sm_100")
        self.assertEqual(found.conclusion, "unique", str(found))
        with self.assertRaisesRegex(ValueError, "scale_run 48: the instruction multiplies by scales of 32 elements"):
            binade.gemm(a, b, a_scale=scale_a, scale_run=48, **how)

    def test_what_does_not_fit_is_refused(self):
        a, b, scale_a, scale_b = drawn(1, 4, 5, 300)
        for given, message in (
                (dict(a_scale=np.ones((3, 3), np.float32)), "for each block"),
                (dict(a_scale=scale_a, b_scale=np.ones((5, 4), np.float32)), "A's are of 128"),
                (dict(a_scale=scale_a, scale_run="128,32,4"), "give one, or A's and B's"),
                (dict(a_scale=scale_a, promote_every=3), "promote after a number of instructions that divides 4"),
                (dict(a_scale=scale_a, promote_scales="twice"), "no such choice"),
                (dict(a_scale=np.zeros(512, np.uint8), scale_layout="128x4"), "scale_run is missing"),
                (dict(a_scale=scale_a, scale_layout="swizzle"), "no such order"),
                (dict(a_scale=scale_a, scale_layout="te,te,te"), "give one, or A's and B's"),
                (dict(a_scale=scale_a, alpha=2, b_tensor_scale=3), "alpha.* has no effect with scales"),
                (dict(a_scale=scale_a, b_scale=scale_b, scale_order="b-first"), "scale_order.* has no effect without a scale"),
                (dict(promote_scales="a-first"), "promote_scales.* has no effect without"),
                (dict(a_scale=np.ones(4, np.float32), scale_layout="row_major", promote_every=4, scale_run=None, alpha=2),
                 "alpha.* has no effect with scales"),
                (dict(a_scale=np.ones(4, np.float32), a_tensor_scale=2), "goes with scales of blocks")):
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                binade.gemm(a, b, transpose_b=True, **given, **INSTRUCTION)


    def test_runs_of_a_kernel_have_scales_of_as_many_elements(self):
        a, b, d = np.zeros((4, 256), np.uint8), np.zeros((4, 256), np.uint8), np.zeros((4, 4), np.float32)
        scales = [np.ones((4, 2), np.float32), np.ones((4, 4), np.float32)]
        with self.assertRaisesRegex(ValueError, "run 2: scales of 64 elements of K, and those of run 1 are of 128"):
            binade.identify([a, a], [b, b], [d, d], types="f32.e4m3.e4m3", transpose_b=True, a_scale=scales, b_scale=scales)

    def test_an_instruction_that_has_scales_is_given_some(self):
        a = np.zeros((16, 64), np.uint8)
        name = "mma.m16n8k64.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
        with self.assertRaisesRegex(ValueError, "none, and the instruction multiplies by scales of 32 elements"):
            binade.gemm(a, a, transpose_b=True, instruction=name, arch="sm_120")


class ProductsOfStacks(unittest.TestCase):
    """A stranger's product: DeepGEMM's, one that rounds, Triton's, and one that forgets the end of K."""

    def identified(self, seed, how, **given):
        a, b, scale_a, scale_b = drawn(seed, 8, 9, 300)
        d = by_oracle(a, b, scale_a, scale_b, how).view(np.float32)
        found = binade.identify(a, b, d, types="f32.e4m3.e4m3", transpose_b=True, a_scale=scale_a, b_scale=scale_b, **given)
        return found, (a, b, scale_a, scale_b, d)

    def test_identify_tells_the_contraction_and_the_order(self):
        for seed, how in ((3, "fma_together"), (4, "mul_add_together"), (5, "fma_a_first"), (6, "fma_b_first")):
            with self.subTest(how):
                found, _ = self.identified(seed, how, arch="sm_90")
                self.assertEqual(found.conclusion, "unique", str(found))
                words = "" if how == "fma_together" else f" --promote-scales {option(how)}"
                self.assertRegex(str(found.models[0]), f"--promote-every 4{words}$")

    def test_what_is_proposed_has_scales_and_tells_models_apart(self):
        a, b, scale_a, scale_b = drawn(11, 2, 3, 256)
        d = by_oracle(a, b, scale_a, scale_b, "fma_a_first").view(np.float32)
        given = dict(types="f32.e4m3.e4m3", transpose_b=True, arch="sm_90")
        found = binade.identify(a, b, d, a_scale=scale_a, b_scale=scale_b, **given)
        self.assertEqual(found.conclusion, "several", str(found))
        more = binade.propose(found)
        self.assertEqual({key: x.shape for key, x in more.items()},
                         {"a": (2, 256), "b": (3, 256), "a_scale": (2, 2), "b_scale": (3, 2)})
        codes = [np.asarray(more[key]).view(np.uint8) for key in "ab"]
        words = [float_words(more[key]).tolist() for key in ("a_scale", "b_scale")]
        second = np.array([[oracle.promoted_product(row.tolist(), column.tolist(), words[0][i], words[1][j], HOPPER, 128, 128,
                                                    "fma_a_first") for j, column in enumerate(codes[1])]
                           for i, row in enumerate(codes[0])], np.uint32).view(np.float32)
        both = binade.identify([a, codes[0]], [b, codes[1]], [d, second], a_scale=[scale_a, more["a_scale"]],
                               b_scale=[np.repeat(scale_b, 3, 0), more["b_scale"]], **given)
        self.assertLess(len(both.models), len(found.models))
        self.assertIn("--promote-every 4 --promote-scales a-first", [str(x).split("f32.e4m3.e4m3 ")[1] for x in both.models])

    def test_validate_names_the_end_of_k_that_is_missing(self):
        a, b, scale_a, scale_b = drawn(7, 8, 20, 300)
        d = by_oracle(a[:, :256], b[:, :256], scale_a[:, :2], scale_b[:, :2], "fma_together").view(np.float32)
        given = dict(transpose_b=True, a_scale=scale_a, b_scale=scale_b)
        found = binade.validate(a, b, d, **given, **INSTRUCTION)
        self.assertIn("elements 160, equal 0, different 160", str(found))
        self.assertIn("the last 44 k of K left out (k 256 on)", str(found))
        self.assertIn("the sum after block 8, k 224…255: did it stop there?", str(found))
        told = binade.identify(a, b, d, types="f32.e4m3.e4m3", arch="sm_90", **given)
        self.assertEqual(told.conclusion, "none")
        self.assertIn("the last 44 k of K left out (k 256 on)", str(told))

    def test_mistakes_with_scales_are_named(self):
        a, b, scale_a, scale_b = drawn(8, 5, 16, 384)
        rolled = np.roll(scale_a, -1, axis=1)
        given = {"types": "f32.e4m3.e4m3", "arch": "sm_90", "transpose_b": True, "a_scale": scale_a, "b_scale": scale_b}
        d = by_oracle(a, b, rolled, scale_b, "fma_together").view(np.float32)
        self.assertIn("A's scales of blocks shifted by 1 along K", str(binade.identify(a, b, d, **given)))
        # What a few elements have by chance, where no model is near, is no cause.
        given |= {"a_scale": scale_a[:, :1], "b_scale": scale_b[:, :1], "scale_run": 128}
        d = np.random.default_rng(8).choice(np.float32([-34.75, 3, 7.25]), d.shape)
        self.assertEqual(binade.identify(a[:, :128], b[:, :128], d, **given).to_dict()["hypotheses"], [])

    def test_validate_names_mistakes_with_scales(self):
        a, b, scale_a, _ = drawn(13, 12, 16, 512)
        scale_b = np.exp2(np.random.default_rng(13).normal(0, 2, (16, 4))).astype(np.float32)
        swizzled = np.zeros(512, np.float32)
        for line, scales in enumerate(scale_b):
            for run, scale in enumerate(scales):
                swizzled[oracle.swizzled_128x4(line, run, 16, 4)] = scale
        for ill, words in {
            "A's and B's scales of blocks divided by, in place of multiplied": (1 / scale_a, 1 / scale_b),
            "A's scales of blocks shifted by 1 along K: run i has that of i - 1, the first its own":
                (scale_a[:, [0, 0, 1, 2]], scale_b),
            "A's scales of blocks those of row i + 1 in row i": (np.roll(scale_a, -1, 0), scale_b),
            "B's scales of blocks of columns exchanged: that of i ^ 8 in column i": (scale_a, scale_b[[*range(8, 16), *range(8)]]),
            "B's scales of blocks read as rows where they lie as 128x4": (scale_a, swizzled[:64].reshape(16, 4)),
            "A's scales of blocks read as columns where they lie as rows": (scale_a.reshape(4, 12).T.copy(), scale_b),
        }.items():
            with self.subTest(ill):
                d = binade.gemm(a, b, transpose_b=True, a_scale=words[0], b_scale=words[1], **INSTRUCTION)
                found = binade.validate(a, b, d, transpose_b=True, a_scale=scale_a, b_scale=scale_b, **INSTRUCTION).to_dict()["as_if"]
                self.assertEqual([(x["words"], x["equal"]) for x in found], [(ill, 192)])

    def test_parts_of_k_and_moved_data_beside_scales_are_named(self):
        a, b, scale_a, _ = drawn(18, 12, 16, 512)
        scale_b = np.exp2(np.random.default_rng(18).normal(0, 2, (16, 4))).astype(np.float32)
        blocks = np.arange(512).reshape(4, 128)

        def product(places=slice(None), runs=slice(None), scales_of_a=scale_a, a=a, **options):
            return binade.gemm(a[:, places], b[:, places], transpose_b=True, a_scale=scales_of_a[:, runs], b_scale=scale_b[:, runs],
                               **options, **INSTRUCTION)

        stale_a, cut, doubled = a.copy(), a.copy(), scale_a.copy()
        stale_a[:, 256:384] = a[:, 128:256]
        cut.reshape(12, 4, 128)[:, :, 96:] = 0
        doubled[:, 2] *= 2
        shuffled = np.random.default_rng(19).permutation(12)
        for words, d in {
            "of K, k 128..255 left out": product(blocks[[0, 2, 3]].reshape(-1), [0, 2, 3]),
            "of K, k 128..255 counted twice, k 256..383 left out": product(blocks[[0, 1, 1, 3]].reshape(-1), [0, 1, 1, 3]),
            "of K, k 96..127 left out, k 224..255 left out, k 352..383 left out, k 480..511 left out": product(a=cut),
            "A stale: in k 256..383 those of k 128..255": product(a=stale_a),
            "A late along K: at each k what belongs at k - 128": product(a=a[:, blocks[[0, 0, 1, 2]].reshape(-1)]),
            "A's scales of other runs of K: in k 128..255 those of k 256..383, in k 256..383 those of k 128..255":
                product(scales_of_a=scale_a[:, [0, 2, 1, 3]]),
            "A of other runs of K: in k 0..127 those of k 384..511, in k 128..511 those of k 0..383":
                product(a=a[:, blocks[[3, 0, 1, 2]].reshape(-1)]),
            f"rows in other places: 0 holds {shuffled[0]}, 1 holds {shuffled[1]}": product(a=a[shuffled]),
            "scales of blocks: those of k 256..383 scaled by 2": product(scales_of_a=doubled),
            "promoted every 256 of K, by the scales of the first 128 of them": product(runs=[0, 2], scale_run=256),
            "A's and B's scales of blocks those of the first run of K everywhere": product(runs=[0, 0, 0, 0]),
            f"rows in other places: 0 holds {shuffled[0]}": product()[shuffled],
        }.items():
            with self.subTest(words):
                found = binade.validate(a, b, d, transpose_b=True, a_scale=scale_a, b_scale=scale_b, **INSTRUCTION).to_dict()["as_if"]
                self.assertTrue(found and found[0]["words"].startswith(words), found)
                self.assertEqual(found[0]["equal"], 192)
        given = dict(types="f32.e4m3.e4m3", arch="sm_90", transpose_b=True, a_scale=scale_a, b_scale=scale_b)
        d, so_far = np.zeros((12, 16), np.float32), np.zeros((12, 16), np.float32)
        for run in range(4):
            so_far += binade.gemm(a[:, blocks[run]], b[:, blocks[run]], transpose_b=True, **INSTRUCTION)
            d += so_far * scale_a[:, run:run + 1] * scale_b[:, run]
        self.assertIn("the accumulator is not cleared between promotions", str(binade.identify(a, b, d, **given)))
        d = product(out_format="bf16")
        d.view(np.uint16).flat[[3, 77]] += 1
        self.assertIn("2 elements are 1 ulp from these sums, all others are equal: rows 0, 4, columns 3, 13",
                      str(binade.identify(a, b, d, **{**given, "types": "bf16.e4m3.e4m3"})))
        # Elements without a sum, and rows of zeros, say nothing of weights.
        d = product(a=stale_a)
        d[0, :4] = 0
        self.assertIn("188 of 192 equal: A stale: in k 256..383 those of k 128..255", str(binade.identify(a, b, d, **given)))
        # Two rows' data without their scales, which few elements tell.
        d = product(a=a[[0, 5, *range(2, 5), 1, *range(6, 12)]])
        self.assertIn("192 of 192 equal: rows in other places: 1 holds 5, 5 holds 1, without their scales, in rows 1, 5",
                      str(binade.identify(a, b, d, **given)))
        few = dict(types="f32.e4m3.e4m3", arch="sm_90", transpose_b=True, a_scale=scale_a[:, :1], b_scale=scale_b[:, :1])
        d = product(blocks[0], [0], **{"scale_run": 128})
        d[[0, 1]] = d[[1, 0]]
        told = binade.identify(a[:, :128], b[:, :128], d, scale_run=128, **few)
        self.assertEqual((told.to_dict()["hypotheses"][0]["equal"], told.conclusion), (192, "none"))
        d = np.where(np.arange(192).reshape(12, 16) % 2, np.float32(0), np.float32(-0.0))
        told = binade.identify(a, b, d, types="f32.e4m3.e4m3", arch="sm_90", transpose_b=True, a_scale=scale_a, b_scale=scale_b)
        self.assertEqual([x["words"] for x in told.to_dict()["hypotheses"]],
                         ["every element holds a zero, of either sign: D was never written, or not with sums"])

    def test_scales_of_the_tensor_off_by_a_constant_are_named(self):
        rng = np.random.default_rng(20)
        a, b = (rng.integers(0, 16, (24, 128)).astype(np.uint8) for _ in range(2))
        scale_a, scale_b = (rng.integers(0x30, 0x48, (24, 8)).astype(np.uint8) for _ in range(2))
        how = {"instruction": "mma.m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", "arch": "sm_120"}
        given = dict(transpose_b=True, a_scale=scale_a, b_scale=scale_b, b_tensor_scale=0.25, **how)
        for factor in (6, 2688):
            d = binade.gemm(a, b, a_tensor_scale=float(np.float32(0.3) * np.float32(factor)), **given)
            found = binade.validate(a, b, d, a_tensor_scale=float(np.float32(0.3)), **given).to_dict()["as_if"]
            self.assertEqual([x["words"] for x in found][:1], [f"the sum scaled by {factor}"])
        half = dict(given, a_scale=scale_a[:, :4], b_scale=scale_b[:, :4], transpose_b=True)
        d = binade.gemm(a[:, :64], b[:, :64], a_tensor_scale=float(np.float32(0.3)), **half)
        found = binade.validate(a, b, d, a_tensor_scale=float(np.float32(0.3)), **given).to_dict()["as_if"]
        self.assertIn("k 64", found[0]["words"])
        with self.assertRaisesRegex(ValueError, "element 1 is 35, which has bits beside the 4 of e2m1; give each code a byte"):
            binade.gemm(np.where(np.arange(128) == 1, np.uint8(0x35), a), b, **given)

    def test_a_small_number_is_no_zero(self):
        a, b, scale_a, scale_b = drawn(16, 4, 5, 256)
        given = dict(transpose_b=True, a_scale=scale_a, b_scale=scale_b)
        d = binade.gemm(a, b, **given, **INSTRUCTION)
        words = "D is as if it were 0: was it written at all?"
        self.assertNotIn(words, str(binade.validate(a, b, d * np.float32(2**-20), **given, **INSTRUCTION)))
        self.assertIn(words, str(binade.validate(a, b, d * 0, **given, **INSTRUCTION)))

    def test_what_one_element_looks_like_is_told_of_it_alone(self):
        rng = np.random.default_rng(17)
        a, b = rng.standard_normal((2, 16, 16)).astype(np.float16)
        how = {"instruction": "mma.m16n8k16.f32.f16.f16.f32", "arch": "sm_90"}
        d = binade.gemm(a, b, **how)
        without = a.copy()
        without[0, 3] = 0
        d[0, 0] = binade.gemm(without, b, **how)[0, 0]
        words = "D is as if it were the sum without the product of k 3"
        self.assertIn(words, str(binade.validate(a, b, d, **how)))
        d[1:] = np.float32(1.7) * d[1:]
        d[0, 1:] *= np.float32(0.6)
        self.assertNotIn(words, str(binade.validate(a, b, d, **how)))

    def test_scales_that_are_no_numbers_are_named(self):
        a, b, scale_a, scale_b = drawn(14, 4, 5, 256)
        scale_a[2, 1] = np.nan
        d = binade.gemm(a, b, transpose_b=True, a_scale=scale_a, b_scale=scale_b, **INSTRUCTION)
        words = "warning: 1 scale of A is NaN or infinite, of row 2, run 1 of K"
        given = dict(transpose_b=True, a_scale=scale_a, b_scale=scale_b)
        self.assertIn(words, str(binade.validate(a, b, d, **given, **INSTRUCTION)))
        self.assertIn(words, str(binade.identify(a, b, d, types="f32.e4m3.e4m3", arch="sm_90", **given)))

    def test_every_mistake_is_held_to_promotions_of_whole_runs(self):
        """Scales of 16 taken for 32: narrow sums of more products than a run are not tried."""
        rng = np.random.default_rng(15)
        a, b = (rng.integers(0, 16, (4, 64)).astype(np.uint8) for _ in range(2))
        scale_a, scale_b = (rng.integers(0x30, 0x48, (4, 4)).astype(np.uint8) for _ in range(2))
        how = {"instruction": "mma.m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", "arch": "sm_120"}
        d = binade.gemm(a, b, transpose_b=True, a_scale=scale_a[:, [0, 0, 2, 2]], b_scale=scale_b[:, [0, 0, 2, 2]], **how)
        found = binade.identify(a, b, d, types="f32.e2m1.e2m1", arch="sm_120", transpose_b=True, a_scale=scale_a, b_scale=scale_b)
        self.assertEqual(found.conclusion, "none")


if __name__ == "__main__":
    main()
