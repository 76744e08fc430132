# SPDX-License-Identifier: Apache-2.0
#
# torch._scaled_grouped_mm and torch.nn.functional.scaled_grouped_mm within binade.torch.tensor_cores, compared in all bits with
# loops over the oracle's dots, of exact fractions. SKIP without torch, its float8 and these functions.
# tensor_cores_scaled_grouped_test.py BINADE
import itertools
import sys
from pathlib import Path

try:
    import numpy as np
    import torch

    import binade.torch
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

from cli_case import main
from tensor_cores_case import TensorCoresCase

F = torch.nn.functional
if not hasattr(torch, "float8_e8m0fnu") or not hasattr(torch, "_scaled_grouped_mm"):
    print("SKIP: this torch has no float8_e8m0fnu or no _scaled_grouped_mm")
    sys.exit(77)

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "oracle"))
import scaled_products as oracle  # noqa: E402

FP4, E4M3, E8M0, BF16 = getattr(torch, "float4_e2m1fn_x2", None), torch.float8_e4m3fn, torch.float8_e8m0fnu, torch.bfloat16
DOT = oracle.wgmma_fp8("e4m3", "e4m3")
# By how many axes the operands have: their sizes (m, n, K) without groups, and where groups end; the last numbers lie behind them.
SHAPES = {(2, 3): ((9, 16, 160), [3, 3, 7]), (3, 2): ((2, 32, 160), [8, 8, 24]), (2, 2): ((2, 16, 336), [48, 304, 320]),
          (3, 3): ((1, 16, 288), None)}
# kind: dtype of operands, its name, of scales, its name, how many numbers have one, the instruction's scale_vec and K
BLOCKS = {"mxf8f6f4": (E4M3, "e4m3", E8M0, "ue8m0", 32, 1, 32), "mxf4": (FP4, "e2m1", E8M0, "ue8m0", 32, 2, 64),
          "mxf4nvf4": (FP4, "e2m1", E4M3, "ue4m3", 16, 4, 64)}


def words(x):
    return np.asarray(x, np.float32).view(np.uint32)


def ends(at):
    return None if at is None else torch.tensor(at, dtype=torch.int32)


def slices(at):
    return [slice(*x) for x in itertools.pairwise([0, *at])]


def of_groups(a, b, at):
    """Codes of groups (m, K) and (n, K), what their rows and columns are, and where their results lie. a (…, m, K), b (…, n, K)."""
    whole = slice(None)
    if a.ndim == b.ndim == 3:
        return [(a[i], b[i], whole, whole, i) for i in range(len(a))]
    if a.ndim == b.ndim == 2:
        return [(a[:, x], b[:, x], whole, whole, i) for i, x in enumerate(slices(at))]
    if a.ndim == 2:
        return [(a[x], b[i], x, whole, x) for i, x in enumerate(slices(at))]
    return [(a[i], b[x], whole, x, (whole, x)) for i, x in enumerate(slices(at))]


def drawn(seed, *shape):
    """Codes of e4m3 of many sizes, none of them NaN."""
    generator = np.random.default_rng(seed)
    return (generator.integers(0, 120, shape) | 128 * generator.integers(0, 2, shape)).astype(np.uint8)


def of_rows(a, b, every):
    """An element's sum: those of every so many of K, added in binary32."""
    register = 0
    for begin in range(0, len(a), every):
        acc, end = 0, min(begin + every, len(a))
        for low in range(begin, end, 32):
            x, y = ([*z[low:min(low + 32, end)].tolist(), *[0] * 32][:32] for z in (a, b))
            acc = DOT(x, y, acc)
        register = acc if begin == 0 else oracle.add(register, acc)
    return register


def times(acc, *scales):
    """A sum times one scale after the other, in bfloat16."""
    return oracle.epilogue(acc, [int(x) for x in words(scales)], "one_by_one", "bfloat16")


def of_blocks(kind, a, b, scale_a, scale_b):
    """An element's sum, before it is rounded; scales (K / run,)."""
    _, element, _, scale, run, vector, step = BLOCKS[kind]
    acc = 0
    for begin in range(0, len(a), step):
        x, y = ([*z[begin:begin + step].tolist(), *[0] * step][:step] for z in (a, b))
        sa, sb = ([*z[begin // run:begin // run + vector].tolist(), *[0] * vector][:vector] for z in (scale_a, scale_b))
        acc = oracle.block_scaled_dot(kind, element, element, scale, vector, x, y, sa, sb, acc)
    return acc


def tiles(scales):
    """(rows, blocks) as they lie in memory."""
    order = oracle.swizzled_128x4_order(*scales.shape)
    return np.array([0 if x is None else scales[x] for x in order], np.uint8)


def tensor(codes, dtype):
    return torch.from_numpy(np.ascontiguousarray(codes)).view(dtype)


class ScaledGrouped(TensorCoresCase):
    def multiplied(self, arch, function, *args, **options):
        with binade.torch.tensor_cores(arch, strict=True) as mode:
            out = function(*args, **options)
        self.assertEqual([ran.calls for ran in mode.covered()], [1])
        self.assertEqual(out.dtype, BF16)
        return out.view(torch.int16).numpy().view(np.uint16)

    def rows_case(self, axes):
        """Operands and scales of rows of a shape, as arrays, and where groups end."""
        (m, n, k), at = SHAPES[axes]
        groups = 3
        a, b = (drawn(sum(axes) + size, *(groups,) * (axis == 3), size, k) for size, axis in zip((m, n), axes))
        generator = np.random.default_rng(4)
        scales = [generator.random((*(groups,) * (axis == 3), size * (groups if axes == (2, 2) else 1))).astype(np.float32)
                  for size, axis in zip((m, n), axes)]
        scales[0][..., ::3] *= 2.0**115  # whose products are infinite before the other scale makes them small
        scales[1][..., ::5] *= 2.0**-40
        return a, b, *scales, at

    def test_scales_of_rows(self):
        for axes, ((m, n, _), _) in SHAPES.items():
            a, b, scale_a, scale_b, at = self.rows_case(axes)
            fast, slow, turned = wanted = [np.zeros((3, m, n) if axes[0] == axes[1] else (m, n), np.uint16) for _ in range(3)]
            for group, (x, y, rows, columns, place) in enumerate(of_groups(a, b, at)):
                left = scale_a.reshape(3, -1)[group] if axes == (2, 2) or axes[0] == 3 else scale_a[rows]
                right = scale_b.reshape(3, -1)[group] if axes == (2, 2) or axes[1] == 3 else scale_b[columns]
                for i, j in itertools.product(range(len(x)), range(len(y))):
                    chain, promoted = (of_rows(x[i], y[j], every) for every in (len(x[i]), 128))
                    for out, element in zip(wanted, (times(chain, left[i], right[j]), times(promoted, left[i], right[j]),
                                                     times(promoted, right[j], left[i]))):
                        out[place][i, j] = element
            self.assertTrue((fast != slow).any() and (turned != slow).any(), f"an order would not show in {axes}")
            given = tensor(a, E4M3), tensor(b, E4M3).transpose(-2, -1), *map(torch.from_numpy, (scale_a, scale_b))
            for is_fast, out in ((True, fast), (False, slow)):
                with self.subTest(axes, fast=is_fast):
                    got = self.multiplied("sm_90", torch._scaled_grouped_mm, *given, ends(at), use_fast_accum=is_fast)
                    np.testing.assert_array_equal(got, out)
            if hasattr(F, "scaled_grouped_mm"):
                kind = F.ScalingType.RowWise
                newer = *given[:2], given[2], kind, given[3], kind
                for dims in [[], [-1, -2], *([[0, 1], [1, 0], [1]] if axes == (2, 2) else [])]:
                    got = self.multiplied("sm_90", F.scaled_grouped_mm, *newer, offs=ends(at), contraction_dim=dims)
                    np.testing.assert_array_equal(got, slow)
            if axes == (2, 2):  # torch does not look at what lies behind the last group
                for k in itertools.permutations((320, 336)):
                    cut = tensor(a[:, :k[0]], E4M3), tensor(b[:, :k[1]], E4M3).t()
                    got = self.multiplied("sm_90", torch._scaled_grouped_mm, *cut, *given[2:], ends(at))
                    np.testing.assert_array_equal(got, slow)

    def blocks_case(self, kind, axes):
        """Operands (numbers' codes) and scales (…, K / run) of each group, and where groups end."""
        _, element, _, scale, run, _, _ = BLOCKS[kind]
        (m, n, k), at = ((5, 16, 160), [2, 2, 4]) if axes == (2, 3) else ((3, 16, 256), [96, 96, 224])
        generator = np.random.default_rng(k)
        low = 117 if scale == "ue8m0" else 0x28
        a, b = (drawn(size, *(3,) * (axis == 3), size, k) & (15 if element == "e2m1" else 255) for size, axis in zip((m, n), axes))
        a[..., 0, :] = 0  # whose sums are +0, and stay so where a tensor's scale is negative
        own = [generator.integers(low, low + 20, (*x.shape[:-1], k // run)).astype(np.uint8) for x in (a, b)]
        return a, b, *own, at

    def blocks_given(self, kind, a, b, scale_a, scale_b, at):
        """The tensors that torch takes."""
        dtype, _, scale_dtype, _, run, _, _ = BLOCKS[kind]
        packed = [x if dtype is E4M3 else x[..., ::2] | x[..., 1::2] << 4 for x in (a, b)]
        if b.ndim == 3:
            lie = [[tiles(scale_a[x]) for x in slices(at)], [tiles(x) for x in scale_b]]
        else:
            of_k = [slice(x.start // run, x.stop // run) for x in slices(at)]
            lie = [[tiles(scale[:, x]) for x in of_k] for scale in (scale_a, scale_b)]
        left, right = (np.concatenate(x).reshape(128, -1) for x in lie)
        right = np.stack(lie[1]) if b.ndim == 3 else right
        return (tensor(packed[0], dtype), tensor(packed[1], dtype).transpose(-2, -1), tensor(left, scale_dtype),
                tensor(right, scale_dtype))

    def test_scales_of_blocks(self):
        for kind, axes in itertools.product(BLOCKS, ((2, 3), (2, 2))):
            if BLOCKS[kind][0] is None:
                continue
            a, b, scale_a, scale_b, at = case = self.blocks_case(kind, axes)
            run = BLOCKS[kind][4]
            sums = np.zeros((3, len(a), b.shape[-2]) if axes == (2, 2) else (len(a), b.shape[-2]), np.uint32)
            number = np.zeros(sums.shape, int)
            for group, (x, y, rows, _, place) in enumerate(of_groups(a, b, at)):
                of_k = slice(None) if axes == (2, 3) else slices([end // run for end in at])[group]
                left, right = scale_a[rows, of_k], scale_b[group] if axes == (2, 3) else scale_b[:, of_k]
                number[place] = group
                for i, j in itertools.product(range(len(x)), range(len(y))):
                    sums[place][i, j] = of_blocks(kind, x[i], y[j], left[i], right[j])
            given = self.blocks_given(kind, *case)
            for factors in ((None,) if kind != "mxf4nvf4" else (([3.0], [0.3, -0.7, 1.1]), ([3.0, 5.0, 7.0], [0.3, -0.7, 1.1]))):
                factor = None if factors is None else np.broadcast_to(np.float32(factors[0]) * np.float32(factors[1]), 3)
                with np.errstate(invalid="ignore"):
                    exact = sums if factor is None else (sums.view(np.float32) * factor[number] + np.float32(0)).view(np.uint32)
                wanted = np.array([oracle.from_binary32(int(x), "bfloat16") for x in exact.flat], np.uint16).reshape(exact.shape)
                self.assertTrue(len(np.unique(wanted)) > 20, "nothing would show")
                for arch in ("sm_100", "sm_103"):
                    with self.subTest(kind, axes=axes, arch=arch, factors=factors):
                        if kind == "mxf8f6f4":
                            got = self.multiplied(arch, torch._scaled_grouped_mm, *given, ends(at))
                            np.testing.assert_array_equal(got, wanted)
                        if hasattr(F, "scaled_grouped_mm"):
                            got = self.multiplied(arch, F.scaled_grouped_mm, *self.newer(kind, given, factors), offs=ends(at),
                                                  **self.swizzles())
                            np.testing.assert_array_equal(got, wanted)

    def newer(self, kind, given, factors=None):
        """Operands, scales and recipes as torch.nn.functional.scaled_grouped_mm takes them."""
        a, b, *scales = given
        recipes = [F.ScalingType.BlockWise1x16 if kind == "mxf4nvf4" else F.ScalingType.BlockWise1x32]
        if factors is not None:
            recipes = [*recipes, F.ScalingType.TensorWise]
            scales = [[x, torch.tensor(y)] for x, y in zip(scales, factors)]
        return a, b, scales[0], recipes, scales[1], recipes

    def swizzles(self):
        return {"swizzle_a": F.SwizzleType.SWIZZLE_32_4_4, "swizzle_b": F.SwizzleType.SWIZZLE_32_4_4}

    def test_what_lies_behind_the_last_group_is_zero(self):
        a, b, scale_a, scale_b, at = self.rows_case((2, 3))
        got = self.multiplied("sm_90", torch._scaled_grouped_mm, tensor(a, E4M3), tensor(b, E4M3).transpose(1, 2),
                              torch.from_numpy(scale_a), torch.from_numpy(scale_b), ends(at))
        self.assertTrue((got[at[-1]:] == 0).all() and (got[:at[-1]] != 0).any())
        nothing = self.multiplied("sm_90", torch._scaled_grouped_mm, tensor(a, E4M3), tensor(b, E4M3).transpose(1, 2),
                                  torch.from_numpy(scale_a), torch.from_numpy(scale_b), ends([0, 0, 0]))
        self.assertTrue((nothing == 0).all())

    def refused(self, arch, error, text, *args, function=torch._scaled_grouped_mm, **options):
        with self.subTest(text), binade.torch.tensor_cores(arch), self.assertRaisesRegex(error, text) as caught:
            function(*args, **options)
        self.assertNotIn("\n", str(caught.exception))

    def test_what_torch_refuses_is_refused(self):
        a, b, left, right, at = self.rows_case((2, 3))
        given = a, b, left, right, offs = (tensor(a, E4M3), tensor(b, E4M3).transpose(1, 2), torch.from_numpy(left),
                                           torch.from_numpy(right), ends(at))
        twos = a.float().to(torch.float8_e5m2)
        for error, text, change in (
                (ValueError, "tensors of 2 or 3 axes", {0: a[None, None]}),
                (ValueError, "row by row", {0: tensor(drawn(1, 160, 16), E4M3).t()}),
                (ValueError, "column by column", {1: b.contiguous()}),
                (RuntimeError, "without gaps between numbers", {0: tensor(drawn(1, 9, 320), E4M3)[:, ::2]}),
                (RuntimeError, "multiples of 16 bytes", {0: tensor(drawn(1, 9, 168), E4M3)[:, :160]}),
                (ValueError, "multiples of 16", {1: tensor(drawn(1, 3, 15, 160), E4M3).transpose(1, 2)}),
                (ValueError, "cannot be multiplied", {0: tensor(drawn(1, 9, 144), E4M3)}),
                (ValueError, "int32 of one axis", {4: offs.long()}),
                (ValueError, "offs go with", {4: None}),
                (RuntimeError, "2 offs of 3 groups", {4: offs[:2]}),
                (RuntimeError, "do not ascend within 9", {4: ends([3, 3, 10])}),
                (RuntimeError, "1024 groups; torch takes 1 to 1023", {4: ends([1] * 1024)}),
                (ValueError, "no bias", {5: torch.ones(16, dtype=BF16)}),
                (ValueError, "no scale_result", {6: torch.ones(1)}),
                (ValueError, "torch gives bfloat16", {7: torch.float16}),
                (ValueError, "both operands are to be float8_e4m3fn", {0: twos}),
                (RuntimeError, r"scale_a of \(8,\); \(9,\)", {2: left[:8]}),
                (RuntimeError, r"scale_b of \(48,\); \(3, 16\)", {3: right.flatten()}),
                (RuntimeError, "without gaps", {2: torch.ones(18)[::2]}),
        ):
            args = [*given, None, None, None]
            for place, x in change.items():
                args[place] = x
            self.refused("sm_90", error, text, *args)
        for arch in ("sm_89", "sm_100", "sm_120"):
            self.refused(arch, ValueError, f"{arch} has no grouped products with scales of rows; sm_90 has", *given)
        a, b, left, right, at = self.rows_case((2, 2))
        given = tensor(a, E4M3), tensor(b, E4M3).t(), torch.from_numpy(left), torch.from_numpy(right)
        self.refused("sm_90", RuntimeError, "groups of K of .*; multiples of 16", *given, ends([40, 304, 320]))
        self.refused("sm_90", RuntimeError, "a group without K", *given, ends([48, 48, 320]))
        a, b, left, right, at = self.rows_case((3, 2))
        given = tensor(a, E4M3), tensor(b, E4M3).t(), torch.from_numpy(left), torch.from_numpy(right)
        self.refused("sm_90", RuntimeError, "groups of columns of .*; multiples of 8", *given, ends([4, 8, 24]))

    def test_what_torch_refuses_of_scales_of_blocks_is_refused(self):
        case = self.blocks_case("mxf8f6f4", (2, 3))
        a, b, left, right = given = self.blocks_given("mxf8f6f4", *case)
        offs = ends(case[-1])
        for arch in ("sm_90", "sm_120"):
            self.refused(arch, ValueError, f"{arch} has no grouped products with scales of blocks; sm_100 and sm_103 have", *given,
                         offs)
        for error, text, change in (
                (ValueError, "first operand has two axes", {0: a[None].expand(3, -1, -1).contiguous(), 4: None}),
                (RuntimeError, "without gaps between rows", {0: tensor(drawn(1, 5, 320), E4M3)[:, :160]}),
                (RuntimeError, "K, here 144, is to be a multiple of 32", {0: tensor(drawn(1, 5, 144), E4M3)}),
                (RuntimeError, r"scale_a of \(2048,\); two axes", {2: left.flatten()}),
                (RuntimeError, "the first of 5 or more", {2: left.reshape(4, 512)}),
                (RuntimeError, "scale_a has 1024 numbers", {2: left.flatten()[:1024].reshape(8, 128)}),
                (RuntimeError, r"scale_b of \(3, 512\); \(3, 1024\)", {3: right[:, :512]}),
        ):
            args = [*given, offs]
            for place, x in change.items():
                args[place] = x
            self.refused("sm_100", error, text, *args)
        case = self.blocks_case("mxf8f6f4", (2, 2))
        a, b, left, right = given_of_k = self.blocks_given("mxf8f6f4", *case)
        self.refused("sm_100", RuntimeError, "multiples of 32", *given_of_k, ends([80, 96, 224]))
        self.refused("sm_100", ValueError, "the same, not 224 and 256", a[:, :224].contiguous(), b, left, right, ends(case[-1]))
        if FP4 is None or not hasattr(F, "scaled_grouped_mm"):
            return
        case = self.blocks_case("mxf4nvf4", (2, 3))
        for of_a in [1.0], [1.0, 2.0]:
            newer = self.newer("mxf4nvf4", self.blocks_given("mxf4nvf4", *case), (of_a, [1.0]))
            self.refused("sm_100", ValueError, "one of each of 3 groups", *newer, function=F.scaled_grouped_mm, offs=offs,
                         **self.swizzles())
        for kind in ("mxf4", "mxf4nvf4"):
            four = self.blocks_given(kind, *self.blocks_case(kind, (2, 3)))
            self.refused("sm_100", ValueError, "scaled_grouped_mm alone", *four, offs)
        newer = self.newer("mxf8f6f4", given)
        self.refused("sm_100", ValueError, "contraction_dim", *newer, function=F.scaled_grouped_mm, offs=offs, contraction_dim=[1, 2],
                     **self.swizzles())

    def test_what_is_not_emulated_is_listed(self):
        a, b, left, right, at = self.rows_case((2, 3))
        rows = tensor(a, E4M3), tensor(b, E4M3).transpose(1, 2), torch.from_numpy(left), torch.from_numpy(right)
        case = self.blocks_case("mxf8f6f4", (2, 3))
        blocks = self.blocks_given("mxf8f6f4", *case)
        calls = [
            ("scales that are not float32", torch._scaled_grouped_mm, (*rows[:2], *(x.to(BF16) for x in rows[2:]), ends(at)), {}),
            ("of float8_e4m3fn and float8_e5m2 with scales of blocks", torch._scaled_grouped_mm,
             (blocks[0].float().to(torch.float8_e5m2), *blocks[1:], ends(case[-1])), {}),
            ("of bfloat16", torch._scaled_grouped_mm, (*(x.to(BF16) for x in rows[:2]), *rows[2:], ends(at)), {}),
        ]
        if hasattr(F, "scaled_grouped_mm"):
            whole, one = F.ScalingType.TensorWise, torch.ones(1)
            for args, where in (((*rows[:2], one, whole, one, whole), at), (self.newer("mxf8f6f4", blocks), case[-1])):
                calls.append(("in a layout that is not emulated", F.scaled_grouped_mm, args, {"offs": ends(where)}))
        if hasattr(F, "scaled_grouped_mm") and FP4 is not None:
            four = self.blocks_given("mxf4nvf4", *self.blocks_case("mxf4nvf4", (2, 3)))
            calls.append(("with scales of 16 and none of tensors", F.scaled_grouped_mm, self.newer("mxf4nvf4", four),
                          {"offs": ends(case[-1]), **self.swizzles()}))
        for text, function, args, options in calls:
            with self.subTest(text), binade.torch.tensor_cores("sm_100", strict=True), \
                    self.assertRaisesRegex(NotImplementedError, text):
                function(*args, **options)


if __name__ == "__main__":
    main()
