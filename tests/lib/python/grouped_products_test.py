# SPDX-License-Identifier: Apache-2.0
"""Products whose rows are in groups, each with a B of its own, held to a product of each group alone; and what validate, explain and
identify say of such products, right ones and ill ones."""
import re
import shlex
import unittest

import numpy as np

from cli_case import CliCase, main

import binade

WGMMA = {"instruction": "wgmma.m64n8k32.f32.e4m3.e4m3", "arch": "sm_90"}
MMA = {"instruction": "mma.m16n8k16.f32.f16.f16.f32", "arch": "sm_90"}


def drawn(seed, sizes, n, k, rows=None):
    """A, (rows, k), and B, (groups, k, n), of binary16; rows behind those of all groups are in none."""
    rng = np.random.default_rng(seed)
    rows = sum(sizes) if rows is None else rows
    return (rng.standard_normal((rows, k)).astype(np.float16), rng.standard_normal((len(sizes), k, n)).astype(np.float16))


def group_rows(sizes):
    ends = np.cumsum(sizes)
    return [range(end - size, end) for size, end in zip(sizes, ends.tolist())]


def apart(a, b, rows, beside=lambda group, rows: {}, out=None, **options):
    """The product of each group alone, its rows put where they belong."""
    d = None
    for group, chosen in enumerate(rows):
        if len(chosen) == 0:
            continue
        of_group = binade.gemm(np.ascontiguousarray(a[chosen]), np.ascontiguousarray(b[group]), **beside(group, chosen), **options)
        d = np.zeros((len(a), of_group.shape[1]), of_group.dtype) if d is None else d
        d[chosen] = of_group
    return d


class GroupedProducts(unittest.TestCase):
    def assertSame(self, x, y):
        self.assertEqual(x.tobytes(), y.tobytes())

    def test_each_layout_is_a_product_of_each_group(self):
        sizes = [5, 0, 19, 8]
        a, b = drawn(1, sizes, 9, 40, rows=35)
        rows = group_rows(sizes)
        expected = apart(a, b, rows, **MMA)
        self.assertFalse(expected[32:].any())
        ends = np.cumsum(sizes).astype(np.int32)
        of_row = np.repeat(np.arange(4), sizes).tolist() + [-1] * 3
        for layout, groups in (("ends", ends), ("sizes", np.array(sizes, np.int64)), ("rows", np.array(of_row, np.int32))):
            with self.subTest(layout):
                self.assertSame(binade.gemm(a, b, groups=groups, group_layout=layout, **MMA), expected)
        padded = np.zeros((256 + 8, 40), np.float16)  # starts are multiples of 128
        padded[:5], padded[128:147], padded[256:] = a[:5], a[5:24], a[24:32]
        d = binade.gemm(padded, b, groups=np.array([5, 128, 147, 264]), group_layout="psum", **MMA)
        self.assertSame(d[[*range(5), *range(128, 147), *range(256, 264)]], expected[:32])
        self.assertFalse(d[5:128].any() or d[147:256].any())
        turned = np.ascontiguousarray(b.transpose(0, 2, 1))
        self.assertSame(binade.gemm(a, turned, transpose_b=True, groups=ends, **MMA), expected)
        stack = np.zeros((4, 20, 40), np.float16)
        for group, chosen in enumerate(rows):
            stack[group, :len(chosen)] = a[chosen]
        d = binade.gemm(stack, b, groups=np.array(sizes, np.int32), group_layout="masked", **MMA)
        self.assertEqual(d.shape, (4, 20, 9))
        for group, chosen in enumerate(rows):
            self.assertSame(d[group, :len(chosen)], expected[chosen])
            self.assertFalse(d[group, len(chosen):].any())

    def test_rows_of_groups_in_any_order(self):
        a, b = drawn(2, [12, 12], 8, 16)
        of_row = np.random.default_rng(3).integers(-1, 2, 24).astype(np.int8)
        rows = [np.flatnonzero(of_row == group).tolist() for group in (0, 1)]
        self.assertSame(binade.gemm(a, b, groups=of_row, group_layout="rows", **MMA), apart(a, b, rows, **MMA))

    def test_what_stands_beside_is_of_the_group(self):
        rng = np.random.default_rng(4)
        sizes = [40, 24]
        a, b = drawn(4, sizes, 8, 32)
        rows = group_rows(sizes)
        ends = np.cumsum(sizes)
        c = rng.standard_normal((64, 8)).astype("f")
        bias = rng.standard_normal((2, 8)).astype("f")
        a_scale, b_scale = rng.random(64).astype("f"), rng.random((2, 8)).astype("f")
        d = binade.gemm(a, b, c, bias, groups=ends, a_scale=a_scale, b_scale=b_scale, **MMA)
        self.assertSame(d, apart(a, b, rows, lambda g, r: {"c": c[r], "bias": bias[g], "a_scale": a_scale[r],
                                                            "b_scale": b_scale[g]}, **MMA))
        d = binade.gemm(a, b, bias=bias[0], groups=ends, b_scale=np.float32([3, 5]), **MMA)
        self.assertSame(d, apart(a, b, rows, lambda g, r: {"bias": bias[0], "b_scale": np.float32([3, 5][g])}, **MMA))
        d = binade.gemm(a, b, groups=ends, out_rounding="stochastic", seed=7, out_format="e5m2", **MMA)
        whole = [binade.gemm(a, b[g], out_rounding="stochastic", seed=7, out_format="e5m2", **MMA) for g in (0, 1)]
        self.assertSame(d, np.concatenate([whole[0][:40], whole[1][40:]]))

    def test_scales_of_blocks_of_each_group(self):
        rng = np.random.default_rng(5)
        sizes, n, k = [130, 70], 136, 256
        a = rng.integers(0, 126, (200, k)).astype(np.uint8)
        b = rng.integers(0, 126, (2, n, k)).astype(np.uint8)
        rows, ends = group_rows(sizes), np.cumsum(sizes)
        a_scale = np.exp2(rng.integers(-3, 3, (200, 2))).astype("f")
        b_scale = np.exp2(rng.integers(-3, 3, (2, 2, 2))).astype("f")
        d = binade.gemm(a, b, transpose_b=True, groups=ends, a_scale=a_scale, b_scale=b_scale, out_format="bf16", **WGMMA)
        self.assertSame(d, apart(a, b, rows, lambda g, r: {"a_scale": a_scale[r], "b_scale": b_scale[g]}, transpose_b=True,
                                 out_format="bf16", **WGMMA))

    def test_scales_that_each_group_fills_up(self):
        """Swizzled scales of rows: each group's are filled up to 128 rows by themselves, as torch wants them."""
        rng = np.random.default_rng(10)
        sizes, n, k = [50, 140], 8, 64
        how = {"instruction": "tcgen05.m128n256k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.ue8m0", "arch": "sm_100"}
        a, b = (rng.integers(0, 126, shape).astype(np.uint8) for shape in ((190, k), (2, n, k)))
        rows, ends = group_rows(sizes), np.cumsum(sizes)
        a_scale, b_scale = (rng.integers(120, 130, shape).astype(np.uint8) for shape in ((190, 2), (2, n, 2)))
        expected = apart(a, b, rows, lambda g, r: {"a_scale": a_scale[r], "b_scale": b_scale[g]}, transpose_b=True, **how)
        plain = binade.gemm(a, b, transpose_b=True, groups=ends, a_scale=a_scale, b_scale=b_scale, **how)
        self.assertSame(plain, expected)

        def swizzled(scales):
            out = np.zeros(-(-len(scales) // 128) * 512, np.uint8)
            for i, row in enumerate(scales):
                for j, scale in enumerate(row):
                    out[i // 128 * 512 + i % 32 * 16 + i % 128 // 32 * 4 + j] = scale
            return out
        of_rows = np.concatenate([swizzled(a_scale[r]) for r in rows])
        of_columns = np.stack([swizzled(x) for x in b_scale])
        d = binade.gemm(a, b, transpose_b=True, groups=ends, a_scale=of_rows, b_scale=of_columns, scale_layout="128x4",
                        scale_run=32, **how)
        self.assertSame(d, expected)

    def test_ill_products_are_told(self):
        sizes = [24, 16, 0, 24]
        a, b = drawn(6, sizes, 16, 64)
        ends = np.cumsum(sizes)
        right = binade.gemm(a, b, groups=ends, **MMA)
        self.assertTrue(binade.validate(a, b, right, groups=ends, **MMA).equal)
        cases = {
            "rows 22..23 of group 0 by the B of group 1": {"groups": np.array([22, 40, 40, 64])},
            "rows 24..25 of group 1 by the B of group 0; row 40 of group 3 by the B of group 1": {"groups": np.array([26, 41, 41, 64])},
            "all rows of group 0 by the B of group 3; all rows of group 3 by the B of group 0": {"b": b[[3, 1, 2, 0]]},
            "rows 38..39 of group 1 by the B of group 2": {"groups": np.array([24, 38, 40, 64])},  # which has no rows
        }
        for words, ill in cases.items():
            with self.subTest(words):
                d = binade.gemm(a, ill.get("b", b), groups=ill.get("groups", ends), **MMA)
                found = binade.validate(a, b, d, groups=ends, **MMA).to_dict()
                self.assertEqual(found["as_if"], [{"words": words, "equal": 1024, "tried": 1024}])
                hypotheses = binade.identify(a, b, d, groups=ends, arch="sm_90").to_dict()["hypotheses"]
                self.assertEqual((hypotheses[0]["words"], hypotheses[0]["equal"]), (words, 1024))
        d = right.copy()
        d[40:] *= 2  # group 3, which is the third that has rows
        told = binade.identify(a, b, d, groups=ends, arch="sm_90").to_dict()["hypotheses"][0]
        self.assertEqual((told["run"], told["equal"], told["elements"]), (2, 384, 384), told)
        rotated = b[[3, 0, 1, 2]]  # no group is right
        d = binade.gemm(a, rotated, groups=ends, split="2", **MMA)
        told = binade.identify(a, b, d, groups=ends, arch="sm_90").to_dict()["hypotheses"][0]
        self.assertEqual((told["equal"], told["words"][:33]), (1024, "all rows of group 0 by the B of gr"[:33]))
        a_scale = np.float32(1 + np.arange(64) % 3)
        b_scale = np.float32([[3], [5], [6], [7]]).repeat(16, 1)
        d = binade.gemm(a, b, groups=ends, a_scale=a_scale, b_scale=b_scale[[1, 1, 2, 3]], **MMA)
        found = binade.validate(a, b, d, groups=ends, a_scale=a_scale, b_scale=b_scale, **MMA).to_dict()
        self.assertEqual(found["as_if"][0]["words"], "all rows of group 0 by the scales of B of group 1")
        first = a_scale.copy()  # of each group those of the first rows of A
        for begin, end in ((24, 40), (40, 64)):
            first[begin:end] = a_scale[:end - begin]
        d = binade.gemm(a, b, groups=ends, a_scale=first, b_scale=b_scale, **MMA)
        found = binade.validate(a, b, d, groups=ends, a_scale=a_scale, b_scale=b_scale, **MMA).to_dict()
        self.assertIn("all rows of group 3 by A's scales of rows 0.. of A, without the 40 rows before the group", found["as_if"][0]["words"])
        d = right.copy()
        d[30, 3] += 1  # of no cause
        self.assertEqual(binade.validate(a, b, d, groups=ends, **MMA).to_dict()["as_if"], [])

    def test_identify_finds_the_model_of_all_groups(self):
        sizes = [16, 0, 24]
        a, b = drawn(7, sizes, 16, 256, rows=44)
        ends = np.cumsum(sizes)
        options = {"instruction": MMA["instruction"], "arch": "sm_90", "split": "2"}
        d = binade.gemm(a, b, groups=ends, **options)
        d[40:] = np.nan  # in no group
        found = binade.identify(a, b, d, groups=ends, arch="sm_90")
        self.assertEqual(found.conclusion, "several", str(found))  # which come to the same for these inputs
        self.assertIn("mma.m16n8k16.f32.f16.f16.f32 --split 2\n", str(found))
        self.assertEqual([run["name"] for run in found.to_dict()["runs"]], ["group 0", "group 2"])
        check = binade.validate(a, b, d, groups=ends, **options)
        self.assertTrue(check.equal)
        self.assertEqual((check.to_dict()["rows_in_none"], check.to_dict()["elements"]), (4, 640))

    def test_bad_input_is_one_line(self):
        a, b = drawn(9, [8, 8], 8, 16)
        for message, options in {
            r"b: shape \(2, 16, 8\); B is a matrix; groups says which rows of A meet which of several": {},
            r"groups: dtype F64; groups takes integers": {"groups": np.float64([8, 16])},
            r"groups: shape \(3,\); groups of 2 B and 16 rows of A in the layout ends has 2 numbers here.*": {"groups": np.array([4, 8, 16])},
            r"groups: group 1 ends before row 17; it begins with row 8, from which on A has 8": {"groups": np.array([8, 17])},
            r"groups: group 1 ends before row 4; it begins with row 8, from which on A has 8": {"groups": np.array([8, 4])},
            r"groups: group 0 has -1 rows; .*": {"groups": np.array([-1, 4]), "group_layout": "sizes"},
            r"groups: row 0 is in group 2; there are groups 0 to 1, and -1 for none": {"groups": np.full(16, 2), "group_layout": "rows"},
            r"groups: no row is in a group; there is nothing to multiply": {"groups": np.array([0, 0])},
            r"group_layout en: no such layout.*ends.*": {"groups": np.array([8, 16]), "group_layout": "en"},
            r"a: shape \(16, 16\); A is a stack of matrices here, one for each group": {"groups": np.array([8, 8]), "group_layout": "masked"},
            r".*stream-K.*": {"groups": np.array([8, 16]), "split": "4:tile16:stream8x8"},
            r"bias: shape \(2,\); the bias is of shape .*": {"groups": np.array([8, 16]), "bias": np.zeros(2, "f")},
            r"b_scale: shape \(3,\); .* one for each of 2 groups, .*": {"groups": np.array([8, 16]), "b_scale": np.zeros(3, "f")},
        }.items():
            with self.subTest(message):
                with self.assertRaises(ValueError) as caught:
                    binade.gemm(a, b, **options, **MMA)
                self.assertRegex(str(caught.exception), "^" + message + "$")
        with self.assertRaisesRegex(ValueError, "group_layout|--group-layout"):
            binade.gemm(a, b[0], group_layout="sizes", **MMA)
        with self.assertRaisesRegex(ValueError, "an account is of one product"):
            binade.account(a, b, groups=np.array([8, 16]), **MMA)
        with self.assertRaisesRegex(ValueError, "row 15 is in no group"):
            binade.explain(a, b, groups=np.array([8, 15]), element=(15, 0), **MMA)


class ShownCommands(CliCase):
    command = ()

    def test_the_first_difference_is_explained_by_the_command_that_is_shown(self):
        a, b = drawn(8, [8, 8], 8, 32)
        ends = np.array([8, 16], np.int32)
        a_scale = np.float32(np.arange(1, 17)).reshape(16, 1).repeat(2, 1)
        d = binade.gemm(a, b, groups=ends, a_scale=a_scale, scale_run=16, promote_every=1, **MMA)
        d[9, 4] += 1
        for name, x in {"a": a, "b": b, "d": d, "g": ends, "s": a_scale}.items():
            np.save(f"{self.folder.name}/{name}.npy", x)
        found = self.run_binade(*"validate gemm a.npy b.npy --d d.npy --groups g.npy --a-scale s.npy --scale-run 16".split(),
                                "--promote-every", 1, "--arch", "sm_90", "--instruction", MMA["instruction"])
        self.assertEqual((found.returncode, found.stderr), (1, b""))
        self.assertIn(b"16 x 8 in 2 groups of rows,".replace(b"x", "×".encode()), found.stdout)
        command = re.search(rb"binade (explain gemm .*--element 9 4)", found.stdout)
        explained = self.run_binade(*shlex.split(command[1].decode()))
        self.assertEqual((explained.returncode, explained.stderr), (0, b""))


if __name__ == "__main__":
    main()
