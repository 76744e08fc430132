# SPDX-License-Identifier: Apache-2.0
#
# torch._scaled_mm and torch.nn.functional.scaled_mm within binade.torch.tensor_cores, compared in all bits with the definition,
# computed by binade.gemm and NumPy's binary32. SKIP without torch and its float8. tensor_cores_scaled_test.py BINADE
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
from tensor_cores_case import TensorCoresCase, values

if not hasattr(torch, "_scaled_mm") or not hasattr(torch, "float8_e4m3fn"):
    print("SKIP: this torch has no float8 and no _scaled_mm")
    sys.exit(77)

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "oracle"))
import scaled_products as oracle  # noqa: E402

F = torch.nn.functional
FP4 = getattr(torch, "float4_e2m1fn_x2", None)
M, K, N = 130, 304, 144
MMA = "mma.m16n8k32.f32.{}.{}.f32"
INSTRUCTIONS = {"sm_89": MMA, "sm_90": "wgmma.m64n8k32.f32.{}.{}", "sm_100": MMA}
NAMES = {torch.float8_e4m3fn: "e4m3", torch.float8_e5m2: "e5m2"}
BF16 = torch.bfloat16


def operands(first=torch.float8_e4m3fn, second=torch.float8_e4m3fn, m=M, k=K, n=N):
    generator = torch.Generator().manual_seed(5)
    a, b = (torch.randn(*shape, generator=generator) * 2.0**torch.randint(-4, 5, shape, generator=generator)
            for shape in ((m, k), (n, k)))
    return a.to(first), b.to(second).t()


def scales(*shape):
    return 0.01 + torch.rand(shape, generator=torch.Generator().manual_seed(sum(shape)))


def newer(left, right, recipe=None):
    """Scales of blocks as torch.nn.functional.scaled_mm takes them, with recipes (their own unless one is given) and swizzles."""
    several = [x if isinstance(x, list) else [x] for x in (left, right)]
    own = {torch.float8_e8m0fnu: F.ScalingType.BlockWise1x32, torch.float8_e4m3fn: F.ScalingType.BlockWise1x16}
    recipes = [[recipe or own[x[0].dtype], *[F.ScalingType.TensorWise] * len(x[1:])] for x in several]
    swizzles = [[F.SwizzleType.SWIZZLE_32_4_4, *[F.SwizzleType.NO_SWIZZLE] * len(x[1:])] for x in several]
    return several[0], recipes[0], several[1], recipes[1], *swizzles


def summed(arch, a, b, promote_every=None):
    model = binade.GemmModel(INSTRUCTIONS[arch].format(NAMES[a.dtype], NAMES[b.dtype]), arch, promote_every=promote_every,
                             out_format="binary32")
    return binade.gemm(values(a), np.ascontiguousarray(values(b)), model=model)


def block(matrix, i):
    """Columns of A, or rows of B turned, of 128 of K."""
    return matrix[:, 128 * i:128 * (i + 1)]


def of_blocks(a, b, left, right, of_squares=False):
    """left (m, blocks), right (n, blocks) → the sum of the blocks' products: times left, rounded, then by fma times right; the other
    way round if left's blocks are squares."""
    out = np.zeros((len(left), len(right)), np.float32)
    for i in range(left.shape[1]):
        scales = [np.broadcast_to(x, out.shape) for x in (left[:, i, None], right[None, :, i])]
        first, last = reversed(scales) if of_squares else scales
        once = summed("sm_90", block(a, i), block(b.t(), i).t()) * first
        out = binade.arith("fma", once, np.ascontiguousarray(last), out, format="binary32")
    return out


class Scaled(TensorCoresCase):
    def multiplied(self, arch, *args, **options):
        with binade.torch.tensor_cores(arch, strict=True) as mode:
            out = (options.pop("function", torch._scaled_mm))(*args, **options)
        self.assertEqual(sum(ran.calls for ran in mode.covered()), 1)
        return out

    def test_scales_of_tensors(self):
        left, right = scales(1), scales(1) / 3
        factor = (left * right).numpy()
        for arch, kinds, fast in itertools.product(INSTRUCTIONS, ((torch.float8_e4m3fn, torch.float8_e5m2), (torch.float8_e5m2,
                                                   torch.float8_e4m3fn), (torch.float8_e4m3fn,) * 2), (False, True)):
            a, b = operands(*kinds, k=160)
            wanted = summed(arch, a, b, 4 if arch == "sm_90" and not fast else None) * factor
            got = self.multiplied(arch, a, b, left, right, out_dtype=torch.float32, use_fast_accum=fast)
            self.equal(got, wanted, (arch, fast))

    def test_promotion_shows_and_is_told(self):
        a, b = operands()
        fast = self.multiplied("sm_90", a, b, scales(1), scales(1), out_dtype=torch.float32, use_fast_accum=True)
        with binade.torch.tensor_cores("sm_90") as mode:
            slow = torch._scaled_mm(a, b, scales(1), scales(1), out_dtype=torch.float32)
        self.assertFalse(torch.equal(fast, slow))
        self.assertEqual([ran.how for ran in mode.covered()],
                         ["wgmma.m64n8k32.f32.e4m3.e4m3 on sm_90, k ascending; into f32 every 4 instructions"])

    def test_scales_of_rows(self):
        a, b = operands()
        left, right = scales(M, 1), scales(1, N)
        wanted = summed("sm_90", a, b, 4) * left.numpy() * right.numpy()
        self.equal(self.multiplied("sm_90", a, b, left, right, out_dtype=torch.float32), wanted)
        bias = torch.randn(N, generator=torch.Generator().manual_seed(1)).to(BF16)
        got = self.multiplied("sm_90", a, b, left, right, bias=bias, out_dtype=BF16)
        self.equal(got, values(torch.tensor(wanted + values(bias)).to(BF16)))

    def test_scales_of_blocks(self):
        a, b = operands()
        strips = scales(M, 3), scales(N, 3)
        squares = scales(2, 3), scales(2, 3) * 1.25
        for left, right in ((0, 0), (0, 1), (1, 0)):
            given = (strips, squares)[left][0], (strips, squares)[right][1].t()
            full = [x.numpy() if not square else np.repeat(x.numpy(), 128, 0)[:rows]
                    for x, square, rows in ((given[0], left, M), (given[1].t(), right, N))]
            wanted = of_blocks(a, b, *full, of_squares=left == 1)
            self.equal(self.multiplied("sm_90", a, b, *given, out_dtype=torch.float32), wanted, (left, right))
            if not hasattr(F, "scaled_mm"):
                continue
            kinds = [F.ScalingType.BlockWise128x128 if square else F.ScalingType.BlockWise1x128 for square in (left, right)]
            given = [F.pad(x.t(), (0, 0, 0, 1)) if square else x for x, square in ((given[0], left), (given[1].t(), right))]
            got = self.multiplied("sm_90", a, b, given[0], kinds[0], given[1], kinds[1], output_dtype=torch.float32,
                                  function=F.scaled_mm)
            self.equal(got, wanted, ("v2", left, right))

    def test_short_sums_and_single_rows_have_scales_of_rows_first(self):
        a, b = operands(k=64)
        left, right = scales(M, 1), scales(1, N)
        for arch, every in (("sm_90", 4), ("sm_100", None)):
            wanted = summed(arch, a, b, every) * left.numpy() * right.numpy()
            self.equal(self.multiplied(arch, a, b, left, right, out_dtype=torch.float32), wanted, arch)
        one = a[:1]
        wanted = summed("sm_90", one, b, 4) * left[:1].numpy() * right.numpy()
        self.equal(self.multiplied("sm_90", one, b, left[:1], right, out_dtype=torch.float32), wanted)

    def test_blocks_as_large_as_a_matrix(self):
        a, b = operands(k=128, n=128)
        left, right = scales(M, 1), scales(1, 1)
        wanted = of_blocks(a, b, left.numpy(), np.broadcast_to(right.numpy(), (128, 1)))
        self.equal(self.multiplied("sm_90", a, b, left, right, out_dtype=torch.float32), wanted)
        one, wide = operands(m=1, k=256, n=256)
        strips, squares = scales(1, 2), scales(2, 2)
        got = self.multiplied("sm_90", one, wide, strips, squares, out_dtype=torch.float32)
        self.equal(got, of_blocks(one, wide, strips.numpy(), np.repeat(squares.t().numpy(), 128, 0)))

    def test_the_newer_function_takes_scales_of_tensors_and_rows(self):
        if not hasattr(F, "scaled_mm"):
            self.skipTest("this torch has no torch.nn.functional.scaled_mm")
        a, b = operands()
        for kind, left, right in (
                (F.ScalingType.TensorWise, scales(1), scales(1)),
                (F.ScalingType.RowWise, scales(M, 1), scales(1, N)),
        ):
            wanted = self.multiplied("sm_90", a, b, left, right, out_dtype=BF16)
            self.assertTrue(torch.equal(self.multiplied("sm_90", a, b, left, kind, right, kind, function=F.scaled_mm), wanted))

    def test_results_of_8_bits_are_scaled_and_saturate(self):
        a, b = operands()
        sums = summed("sm_90", a, b, 4)
        for dtype, name in NAMES.items():
            got = self.multiplied("sm_90", a, b, torch.ones(1), torch.ones(1), scale_result=torch.tensor(0.75), out_dtype=dtype)
            wanted = binade.quantize(sums * np.float32(0.75), name, saturation="finite")
            self.assertEqual(got.dtype, dtype)
            self.equal(got, wanted, name)
        self.assertEqual(self.multiplied("sm_90", a, b, torch.ones(1), torch.ones(1)).dtype, torch.float8_e4m3fn)

    def test_no_terms_make_zeros(self):
        a, b = operands(k=0)
        got = self.multiplied("sm_90", a, b, torch.ones(1), torch.ones(1), torch.ones(N, dtype=BF16), out_dtype=BF16)
        self.assertTrue(torch.equal(got, torch.zeros(M, N, dtype=BF16)))

    def test_of_empty_operands_torch_looks_at_less(self):
        """It neither looks whether the GPU has a kernel nor, in scaled_mm, at scales of blocks."""
        e4m3, e5m2, one, bias = torch.float8_e4m3fn, torch.float8_e5m2, torch.ones(1), torch.ones(16, dtype=BF16)
        strips = torch.ones(0, 2), torch.ones(2, 16)
        cases = [
            ("sm_90", (0, 32), e4m3, (torch.ones(0, 1), torch.ones(1, 16)), {"out_dtype": e4m3}),
            ("sm_89", (0, 32), e5m2, (torch.ones(0, 1), torch.ones(1, 16)), {"out_dtype": BF16}),
            ("sm_89", (0, 32), e4m3, (one, one, bias), {"out_dtype": torch.float64}),
            ("sm_89", (16, 0), e4m3, (one, one), {"out_dtype": torch.float64}),
            ("sm_100", (0, 256), e4m3, strips, {"out_dtype": BF16}),
            ("sm_90", (0, 256), e4m3, strips, {"out_dtype": BF16, "use_fast_accum": True}),
        ]
        if hasattr(F, "scaled_mm"):
            kind = F.ScalingType
            row, strip = kind.RowWise, kind.BlockWise1x128
            cases += [
                ("sm_90", (0, 32), e5m2, (strips[0], strip, strips[1], strip), {"output_dtype": BF16}),
                ("sm_100", (0, 32), e4m3, (torch.ones(3, 3), strip, one, strip), {"output_dtype": BF16}),
                ("sm_89", (0, 32), e5m2, (torch.ones(0), row, torch.ones(16), row), {"output_dtype": e4m3}),
                ("sm_90", (16, 0), e4m3, (torch.ones(4, 4), row, torch.ones(16), row), {"output_dtype": torch.float64}),
            ]
        for case in cases:
            arch, (m, k), second, args, options = case
            with self.subTest(case):
                got = self.multiplied(arch, *operands(second=second, m=m, k=k, n=16), *args, **options,
                                      function=F.scaled_mm if "output_dtype" in options else torch._scaled_mm)
                self.assertEqual(got.dtype, [x for x in options.values() if x is not True][0])
                self.equal(got, np.zeros((m, 16), np.float32))

    def test_what_the_newer_function_refuses_is_refused(self):
        if not hasattr(F, "scaled_mm"):
            self.skipTest("this torch has no torch.nn.functional.scaled_mm")
        ones, kind = torch.ones, F.ScalingType
        row, strip, square = kind.RowWise, kind.BlockWise1x128, kind.BlockWise128x128
        given = operands(m=16, k=256, n=16)
        mixed = operands(second=torch.float8_e5m2, m=16, k=256, n=16)
        for arch, error, text, args, dtype in (
                ("sm_90", ValueError, r"scale_a of \(1, 16\); \(16, 1\)", (ones(1, 16), row, ones(1, 16), row), BF16),
                ("sm_90", ValueError, r"scale_a of \(4, 4\); \(16, 1\)", (ones(4, 4), row, ones(1, 16), row), BF16),
                ("sm_90", ValueError, "has not the 16 numbers", (ones(15, 1), row, ones(1, 16), row), BF16),
                ("sm_90", ValueError, r"scale_b of \(16,\); \(1, 16\)", (ones(16, 1), row, ones(16), row), BF16),
                ("sm_100", RuntimeError, r"scale_b is to be \(1, 16\), not", (ones(16, 1), row, ones(4, 4), row), BF16),
                ("sm_100", ValueError, "scales of rows no result", (ones(16, 1), row, ones(4, 4), row), torch.float64),
                ("sm_90", RuntimeError, "scales of rows no result", (ones(16, 1), row, ones(1, 16), row), torch.float64),
                ("sm_90", RuntimeError, "a result of torch.float64", (ones(16, 2), strip, ones(16, 2), strip), torch.float64),
                ("sm_90", ValueError, r"scale_a of \(3, 3\); \(16, 2\)", (ones(3, 3), strip, ones(16, 2), strip), BF16),
                ("sm_100", NotImplementedError, "no scales of blocks", (ones(3, 3), strip, ones(16, 2), strip), torch.float64),
                ("sm_90", ValueError, r"scale_b of \(1, 4\); \(4, 1\)", (ones(16, 2), strip, ones(1, 4), square), BF16),
        ):
            self.refused(arch, error, text, F.scaled_mm, (*given, *args), output_dtype=dtype)
        self.refused("sm_100", ValueError, "those of float8_e4m3fn alone", F.scaled_mm,
                     (*mixed, ones(3, 3), strip, ones(16, 2), strip), output_dtype=BF16)
        options = {"output_dtype": torch.float32, "function": F.scaled_mm}
        wanted, got = (self.multiplied("sm_90", *given, scales(16, 1), row, x, row, **options)
                       for x in (scales(1, 16), scales(1, 16).reshape(4, 4)))  # which is read as it lies
        self.equal(got, values(wanted))

    def test_what_a_gpu_refuses_is_refused(self):
        a, b = operands(m=32, k=32, n=32)
        one = torch.ones(1)
        twos = [x.float().to(torch.float8_e5m2) for x in (a, b)]
        for arch, args, options, text in (
                ("sm_80", (a, b, one, one), {}, "sm_80 has no FP8"),
                ("sm_90", (a, b[:16], one, one), {}, "shapes cannot be multiplied"),
                ("sm_90", (a, b[:, :17], one, one), {}, "N, here 17, of 16"),
                ("sm_90", (a, b, one, torch.ones(1, 32)), {}, "scales of"),
                ("sm_90", (a, b, torch.ones(7, 1), torch.ones(1, 32)), {}, "scales of"),
                ("sm_90", (*twos, torch.ones(3), torch.ones(3)), {}, "scales of"),
                ("sm_90", (a, b, one, one, torch.ones(32)), {"out_dtype": BF16}, "a bias of"),
                ("sm_90", (a, b, one, one, torch.ones(1, dtype=BF16)), {"out_dtype": BF16}, "a bias of"),
                ("sm_90", (a, b, one, one), {"out_dtype": torch.float64}, "float64"),
                ("sm_90", (a, b, torch.ones(32, 1), torch.ones(1, 32)), {}, "scales of rows no result"),
                ("sm_89", (a, twos[1], torch.ones(32, 1), torch.ones(1, 32)), {"out_dtype": BF16}, "second operand"),
                ("sm_90", (a, b, one, one), {"scale_result": torch.ones(2)}, "scale_result"),
        ):
            with self.subTest(text), binade.torch.tensor_cores(arch), self.assertRaisesRegex(RuntimeError, text):
                torch._scaled_mm(*args, **options)
        with binade.torch.tensor_cores("sm_90"), self.assertRaisesRegex(ValueError, "two operands of float8_e5m2"):
            torch._scaled_mm(*twos, one, one, out_dtype=BF16)
        for dtype in (None, torch.float64):
            with binade.torch.tensor_cores("sm_100"), self.assertRaisesRegex(ValueError, "scales of rows no result"):
                torch._scaled_mm(a, b, torch.ones(32, 1), torch.ones(1, 32), out_dtype=dtype)
        wide = operands(m=128, k=256, n=128)
        with binade.torch.tensor_cores("sm_90"), self.assertRaisesRegex(RuntimeError, "no use_fast_accum"):
            torch._scaled_mm(*wide, torch.ones(128, 2), torch.ones(2, 128), out_dtype=BF16, use_fast_accum=True)
        with binade.torch.tensor_cores("sm_100"), self.assertRaisesRegex(RuntimeError, "no scales of blocks"):
            torch._scaled_mm(*wide, torch.ones(128, 2), torch.ones(2, 128), out_dtype=BF16)

    def test_mx_formats_and_nvfp4_are_chains_of_block_scaled_dots(self):
        if FP4 is None:
            self.skipTest("this torch has no float4_e2m1fn_x2")
        for kind, scale, k, dtype in (("mxf8f6f4", "ue8m0", 96, torch.float8_e4m3fn), ("mxf4", "ue8m0", 128, FP4),
                                      ("mxf4nvf4", "ue4m3", 128, FP4)):
            element, vector, run = ("e4m3", 1, 32) if kind == "mxf8f6f4" else ("e2m1", *((2, 32) if kind == "mxf4" else (4, 16)))
            generator = np.random.default_rng(k + vector)
            codes = [generator.integers(0, 16 if dtype is FP4 else 120, (rows, k), np.uint8) for rows in (3, 16)]
            laid, rows_of_scales = [], []
            for rows in (3, 16):
                low = 117 if scale == "ue8m0" else 0x28
                own = generator.integers(low, low + 20, (rows, k // run), np.uint8)
                tiles = np.zeros(128 * (k // run + -(k // run) % 4), np.uint8)
                order = oracle.swizzled_128x4_order(rows, k // run)
                tiles[[i for i, x in enumerate(order) if x]] = [own[x] for x in order if x]
                laid.append(torch.from_numpy(tiles).view(torch.float8_e8m0fnu if scale == "ue8m0" else torch.float8_e4m3fn))
                rows_of_scales.append(own.tolist())
            packed = [x if dtype is not FP4 else x[:, ::2] | x[:, 1::2] << 4 for x in codes]
            a, b = (torch.from_numpy(np.ascontiguousarray(x)).view(dtype) for x in packed)
            step = oracle.BLOCK_SCALED[kind, scale, vector]
            wanted = np.zeros((3, 16), np.uint32)
            for i, j in itertools.product(range(3), range(16)):
                c = 0
                for at in range(0, k, step):
                    own = slice(at // run, (at + step) // run)
                    c = oracle.block_scaled_dot(kind, element, element, scale, vector, codes[0][i, at:at + step].tolist(),
                                                codes[1][j, at:at + step].tolist(), rows_of_scales[0][i][own],
                                                rows_of_scales[1][j][own], c)
                wanted[i, j] = c
            if kind == "mxf4":
                self.check_mxfp4(a, b.t(), *laid, wanted.view(np.float32))
                continue
            for arch in ("sm_100", "sm_120"):
                with self.subTest(kind, arch=arch):
                    got = self.multiplied(arch, a, b.t(), *laid, out_dtype=torch.float32)
                    np.testing.assert_array_equal(got.numpy().view(np.uint32), wanted)
            if scale == "ue4m3" and hasattr(F, "scaled_mm"):
                two, half = torch.tensor(2.0), torch.tensor(0.75)
                kinds = [F.ScalingType.BlockWise1x16, F.ScalingType.TensorWise]
                swizzles = [F.SwizzleType.SWIZZLE_32_4_4, F.SwizzleType.NO_SWIZZLE]
                got = self.multiplied("sm_100", a, b.t(), [laid[0], two], kinds, [laid[1], half], kinds, swizzle_a=swizzles,
                                      swizzle_b=swizzles, output_dtype=torch.float32, function=F.scaled_mm)
                np.testing.assert_array_equal(got.numpy(), wanted.view(np.float32) * np.float32(1.5))
            with self.assertRaisesRegex(RuntimeError, "has no scales of blocks"), binade.torch.tensor_cores("sm_90"):
                torch._scaled_mm(a, b.t(), *laid, out_dtype=BF16)

    def check_mxfp4(self, a, b, left, right, wanted):
        """MXFP4 is torch.nn.functional.scaled_mm's alone, in bfloat16; torch's kernel takes no bias."""
        if not hasattr(F, "scaled_mm"):
            return
        given = a, b, *newer(left, right)
        for bias in (None, torch.full((b.shape[1],), 1e6, dtype=BF16)):
            got = self.multiplied("sm_100", *given, bias=bias, function=F.scaled_mm)
            self.equal(got, values(torch.tensor(wanted).to(BF16)), bias)
        for arch in ("sm_90", "sm_110", "sm_120"):
            self.refused(arch, NotImplementedError, f"sm_100 and sm_103 alone, not on {arch}", F.scaled_mm, given)

    def refused(self, arch, error, text, function, args, **options):
        with self.subTest(text), binade.torch.tensor_cores(arch), self.assertRaisesRegex(error, text) as caught:
            function(*args, **options)
        self.assertIs(type(caught.exception), error)
        self.assertNotIn("\n", str(caught.exception))

    def block_operands(self, dtype=torch.float8_e4m3fn, scale=None, m=32, k=64, n=32):
        """Zeros of a dtype, and scales that fit them."""
        if FP4 is None:
            self.skipTest("this torch has no float4_e2m1fn_x2")
        packed = 2 if dtype is FP4 else 1
        scale = scale or torch.float8_e8m0fnu
        runs = -(-k // (32 if scale is torch.float8_e8m0fnu else 16))
        a, b = (torch.zeros(rows, k // packed, dtype=torch.uint8).view(dtype) for rows in (m, n))
        laid = [torch.zeros((rows + -rows % 128) * (runs + -runs % 4), dtype=torch.uint8).view(scale) for rows in (m, n)]
        return a, b.t(), *laid

    def test_what_torch_refuses_of_blocks_is_refused(self):
        e5m2, out = torch.float8_e5m2, {"out_dtype": BF16}
        a, b, left, right = mx = self.block_operands()
        nv = self.block_operands(FP4, torch.float8_e4m3fn)
        gaps = torch.stack([left.view(torch.uint8)] * 2, 1).view(left.dtype)[:, 0]
        cases = (
            (ValueError, "two operands of float8_e5m2", (a.view(e5m2), b.view(e5m2), left, right), out),
            (RuntimeError, "a result of torch.float8_e4m3fn", mx, {}),
            (RuntimeError, "scale_a has strides", (a, b, gaps, right), out),
            (RuntimeError, "scale_b has 256 numbers; 32 rows of 64 have 512", (a, b, left, right[:256]), out),
            (RuntimeError, "scale_b has 256 numbers", (a.view(e5m2), b.view(e5m2), left, right[:256]), out),
            (RuntimeError, "scale_result", mx, {**out, "scale_result": torch.ones(2)}),
            (RuntimeError, "a bias of 7 numbers", mx, {**out, "bias": torch.ones(7, dtype=BF16)}),
            (RuntimeError, "a bias of torch.float16", mx, {**out, "bias": torch.ones(32).half()}),
            (RuntimeError, "no use_fast_accum", nv, {**out, "use_fast_accum": True}),
            (RuntimeError, "K, here 48, is to be a multiple of 32", self.block_operands(FP4, torch.float8_e4m3fn, k=48), out),
        )
        for error, text, args, options in cases:
            self.refused("sm_100", error, text, torch._scaled_mm, args, **options)
        if not hasattr(F, "scaled_mm"):
            return
        one, two, levels = torch.ones(1), torch.ones(2), {"swizzle_a": [1, 0], "swizzle_b": [1, 0]}
        cases = (
            (ValueError, "two operands of float8_e5m2", (a.view(e5m2), b.view(e5m2), left, right), {}),
            (ValueError, "those of float8_e4m3fn alone", (a, b.view(e5m2), left, right), {}),
            (RuntimeError, "a result of torch.float8_e4m3fn", mx, {"output_dtype": None}),
            (ValueError, "scale_a has strides", (a, b, gaps, right), {}),
            (ValueError, "scale_b has 256 numbers", (a, b, left, right[:256]), {}),
            (ValueError, "no use_fast_accum", nv, {"use_fast_accum": True}),
            (ValueError, "a bias of 7 numbers", mx, {"bias": torch.ones(7, dtype=BF16)}),
            (ValueError, r"swizzles \[\] of scale_a; 1, ", mx, {"swizzle_a": []}),
            (ValueError, r"swizzles \[1\] of scale_a; 2, ", (*nv[:2], [nv[2], one], [nv[3], one]), {}),
            (ValueError, r"scale_b is \(1,\) of torch.float64", (*nv[:2], [nv[2], one], [nv[3], one.double()]), levels),
            (ValueError, r"scale_a is \(2,\) of torch.float32", (*nv[:2], [nv[2], two], [nv[3], two]), levels),
            (ValueError, "2 scales of a and 1 of b", (*nv[:2], [nv[2], one], nv[3]), {"swizzle_a": [1, 0]}),
            (ValueError, r"recipes \[1\]", mx, {"recipe": F.ScalingType.RowWise}),
            (ValueError, "contraction_dim", mx, {"contraction_dim": (0, 1)}),
            (ValueError, "K, here 8, is to be a multiple of 16", self.block_operands(k=8), {}),
            (RuntimeError, "K, here 48, is to be a multiple of 32", self.block_operands(FP4, k=48), {}),
        )
        for error, text, args, options in cases:
            swizzles = {name: [F.SwizzleType(x) for x in options[name]] for name in ("swizzle_a", "swizzle_b") if name in options}
            recipe = options.get("recipe")
            options = {name: x for name, x in options.items() if name != "recipe"} | swizzles
            self.refused("sm_100", error, text, F.scaled_mm, (*args[:2], *newer(*args[2:], recipe)[:4]),
                         **{**dict.fromkeys(("swizzle_a", "swizzle_b"), F.SwizzleType.SWIZZLE_32_4_4), **options})

    def test_blocks_of_no_rows_or_terms_make_zeros(self):
        for sizes in ({"m": 0}, {"k": 0}, {"n": 0}):
            for kind in ((), (FP4,), (FP4, torch.float8_e4m3fn)):
                args = self.block_operands(*kind, **sizes)
                a, b, *laid = args
                wanted = torch.zeros(len(a), b.shape[1], dtype=BF16)
                got = self.multiplied("sm_90", *args, bias=torch.ones(b.shape[1], dtype=BF16), out_dtype=BF16)
                self.assertTrue(torch.equal(got, wanted))
                if hasattr(F, "scaled_mm"):
                    self.assertTrue(torch.equal(self.multiplied("sm_90", a, b, *newer(*laid), function=F.scaled_mm), wanted))

    def test_blocks_that_are_not_emulated_are_listed(self):
        four = self.block_operands(FP4)
        calls = [("of a K of 48", "sm_100", torch._scaled_mm, self.block_operands(k=48), {}),
                 ("of MXFP4, which torch hands to cuBLASLt", "sm_100", torch._scaled_mm, four, {})]
        if hasattr(F, "scaled_mm"):
            a, b, *laid = self.block_operands(FP4, torch.float8_e4m3fn, k=48)
            calls += [("of MXFP4 on sm_103", "sm_103", F.scaled_mm, (*four[:2], *newer(*four[2:])), {}),
                      ("of MXFP4 into float16", "sm_100", F.scaled_mm, (*four[:2], *newer(*four[2:])), {"output_dtype": torch.float16}),
                      ("of a K of 48", "sm_100", F.scaled_mm, (a, b, *newer(*laid)), {})]
        for text, arch, function, args, options in calls:
            with self.subTest(text), binade.torch.tensor_cores(arch, strict=True), self.assertRaisesRegex(NotImplementedError, text):
                function(*args, **options)

    def test_what_is_not_emulated_is_listed(self):
        a, b = operands(m=32, k=32, n=32)
        refused = self.assertRaisesRegex(NotImplementedError, "scales that are not float32")
        with binade.torch.tensor_cores("sm_100", strict=True), refused:
            torch._scaled_mm(a, b, torch.ones(32, 1, dtype=BF16), torch.ones(1, 32, dtype=BF16), out_dtype=BF16)


if __name__ == "__main__":
    main()
