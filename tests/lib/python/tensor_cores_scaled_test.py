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

    def test_what_a_gpu_refuses_is_refused(self):
        a, b = operands(m=32, k=32, n=32)
        one = torch.ones(1)
        twos = [x.float().to(torch.float8_e5m2) for x in (a, b)]
        for arch, args, options, text in (
                ("sm_80", (a, b, one, one), {}, "sm_80 has no FP8"),
                ("sm_90", (a, b[:16], one, one), {}, "shapes cannot be multiplied"),
                ("sm_90", (a, b[:, :17], one, one), {}, "multiples of 16"),
                ("sm_90", (*twos, one, one), {}, "float8_e5m2"),
                ("sm_90", (a, b, one, torch.ones(1, 32)), {}, "scales of"),
                ("sm_90", (a, b, torch.ones(7, 1), torch.ones(1, 32)), {}, "scales of"),
                ("sm_90", (a, b, one, one, torch.ones(32)), {"out_dtype": BF16}, "a bias of"),
                ("sm_90", (a, b, one, one, torch.ones(1, dtype=BF16)), {"out_dtype": BF16}, "a bias of"),
                ("sm_90", (a, b, one, one), {"out_dtype": torch.float64}, "float64"),
                ("sm_90", (a, b, torch.ones(32, 1), torch.ones(1, 32)), {}, "scales of rows no result"),
                ("sm_89", (a, twos[1], torch.ones(32, 1), torch.ones(1, 32)), {"out_dtype": BF16}, "second operand"),
                ("sm_90", (a, b, one, one), {"scale_result": torch.ones(2)}, "scale_result"),
        ):
            with self.subTest(text), binade.torch.tensor_cores(arch), self.assertRaisesRegex(RuntimeError, text):
                torch._scaled_mm(*args, **options)
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

    def test_what_is_not_emulated_is_listed(self):
        a, b = operands(m=32, k=32, n=32)
        refused = self.assertRaisesRegex(NotImplementedError, "scales that are not float32")
        with binade.torch.tensor_cores("sm_100", strict=True), refused:
            torch._scaled_mm(a, b, torch.ones(32, 1, dtype=BF16), torch.ones(1, 32, dtype=BF16), out_dtype=BF16)


if __name__ == "__main__":
    main()
