# SPDX-License-Identifier: Apache-2.0
#
# Torch's products within binade.torch.tensor_cores(order="reference"): the exact number, as Python's fractions have it, rounded
# once to the dtype. SKIP without torch. tensor_cores_reference_test.py BINADE
import collections
import itertools
import math
import sys
from fractions import Fraction

try:
    import numpy as np
    import torch

    import binade.torch
    from binade.torch.products import attention as attention_products
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

import tensor_cores_oracle as oracle
from cli_case import main
from tensor_cores_case import TensorCoresCase, leaves, numbers, same_bits, tf32, values

F = torch.nn.functional
HOW = "exact sums, rounded once"
# Digits, and exponents of the smallest and the largest normal numbers.
DTYPES = {torch.float16: (11, -14, 15), torch.bfloat16: (8, -126, 127), torch.float32: (24, -126, 127)}


def nearest(x, dtype):
    """A fraction's nearest number, ties to even, as a float."""
    digits, least, most = DTYPES[dtype]
    if x == 0:
        return 0.0
    exponent = abs(x.numerator).bit_length() - x.denominator.bit_length()
    exponent -= abs(x) < Fraction(2) ** exponent
    unit = Fraction(2) ** (max(exponent, least) - digits + 1)
    out = round(abs(x) / unit) * unit
    return math.copysign(float(out) if out < Fraction(2) ** (most + 1) else math.inf, x)


def summed(terms, dtype):
    """Of products of several floats each."""
    total, infinities = Fraction(0), set()
    for factors in terms:
        if any(map(math.isnan, factors)) or (any(map(math.isinf, factors)) and 0 in factors):
            return math.nan
        if any(map(math.isinf, factors)):
            infinities.add(math.copysign(math.inf, math.prod(math.copysign(1, x) for x in factors)))
        else:
            total += math.prod(map(Fraction, factors))
    if infinities:
        return math.nan if len(infinities) > 1 else infinities.pop()
    return nearest(total, dtype)


def exact(a, b, dtype, c=None, alpha=1, beta=1):
    """alpha·A·B + beta·C of matrices."""
    a, b = a.tolist(), b.t().tolist()
    out = np.zeros((len(a), len(b)), np.float32)
    c = None if c is None or beta == 0 else c.expand(out.shape).tolist()
    for i, j in np.ndindex(out.shape):
        terms = [(x, y, alpha) for x, y in zip(a[i], b[j])]
        out[i, j] = summed(terms if c is None else terms + [(beta, c[i][j])], dtype)
    return out


def any_numbers(seed, *shape, dtype, span=None):
    """Of every exponent that the dtype has, subnormal ones and zeros among them; or of so many of them, the last and the first
    for certain."""
    digits, least, most = DTYPES[dtype]
    generator = np.random.default_rng(seed)
    exponents = generator.integers(least - digits, most + 1, shape)
    if span is not None:
        exponents = generator.integers(0, span, shape) - 20
        exponents[:2, :2] = [[-20, span - 21], [span - 21, -20]]
    x = np.ldexp(generator.choice((-1, 0, 1), shape, p=(0.45, 0.1, 0.45)) * generator.uniform(1, 2, shape), exponents)
    return torch.tensor(x).clamp(-torch.finfo(dtype).max, torch.finfo(dtype).max).to(dtype)


def kinds_of_operands(dtype):
    """Large ones that cancel; every exponent; such as are subnormal, or overflow, when multiplied; infinities and NaNs."""
    a, b, c = (numbers(i, *shape, dtype=dtype) for i, shape in enumerate(((6, 23), (23, 5), (6, 5))))
    yield a, b, c
    yield torch.cat((a, -a), 1), torch.cat((b, b)), c
    yield tuple(any_numbers(i, *shape, dtype=dtype) for i, shape in enumerate(((6, 23), (23, 5), (6, 5))))
    # Where the integers end that it uses: of 62 bits one number, of 127 a sum.
    for span, other in itertools.product(range(36, 45), (3, 20, 38)) if dtype == torch.float32 else ():
        yield (any_numbers(span, 2, 40, dtype=dtype, span=span), any_numbers(99, 40, 2, dtype=dtype, span=other),
               any_numbers(span, 2, 2, dtype=dtype))
    least = torch.tensor(torch.finfo(dtype).smallest_normal).to(dtype)
    yield a[:, :3] / 2**12 * least, b[:3] / 2**12, c * least / 2**12
    yield a[:, :3] / 2**12 * torch.finfo(dtype).max, b[:3] / 2**12, c / 2**13 * torch.finfo(dtype).max
    a, b, c = a.clone(), b.clone(), c.clone()
    a[0, 0], a[1, 1], a[2, 2], a[2, 3], a[5, 4] = math.inf, math.nan, math.inf, -math.inf, math.inf
    b[0, 0], b[4, 1], b[0, 2], b[3, 3], c[3, 3], c[0, 2] = 0, -math.inf, math.inf, math.nan, math.inf, -math.inf
    yield a, b, c


class Reference(TensorCoresCase):
    def held(self, wanted, call, op):
        with binade.torch.tensor_cores("sm_80", order="reference", strict=True) as mode, tf32(True, True):
            got = call()
        self.assertEqual({(one.op, one.how) for one in mode.covered()}, {(name, HOW) for name in op.split()})
        for i, (mine, theirs) in enumerate(zip(got, wanted, strict=True)):
            self.equal(mine, theirs, f"result {i}")

    def test_products_of_matrices(self):
        for dtype in DTYPES:
            for i, (a, b, c) in enumerate(kinds_of_operands(dtype)):
                with self.subTest(dtype=dtype, operands=i):
                    wanted = [exact(a, b, dtype), exact(a, b, dtype, c)]
                    with binade.torch.tensor_cores("sm_80"):
                        self.assertFalse(i == 0 and same_bits(values(a @ b), wanted[0]).all(), "the model's bits")
                    self.held(wanted, lambda: (torch.mm(a, b), torch.addmm(c, a, b)), "mm addmm")
                    self.held([exact(a, b, dtype, c, *factors) for factors in ((0.7, -0.3), (-1e-3, 0), (0, 1.5), (3, 1))],
                              lambda: [torch.addmm(c, a, b, alpha=alpha, beta=beta)
                                       for alpha, beta in ((0.7, -0.3), (-1e-3, 0), (0, 1.5), (3, 1))], "addmm")

    def test_ties_and_what_lies_just_beside_them(self):
        for dtype, (digits, *_) in DTYPES.items():
            half = 2.0 ** -(digits // 2) * 2.0 ** -(digits - digits // 2)  # of a unit in the last place of 1
            tiny = 2.0 ** -12
            for sign, last, below in itertools.product((-1, 1), (0, 1), (-1, 0, 1)):
                # sign · (1 + last · ulp + half an ulp + below · 2^-48), and c as its first, or no, term
                a = torch.tensor([[1.0, 2 * last * 2.0 ** -(digits // 2), 2.0 ** -(digits // 2), below * tiny * tiny]]).to(dtype)
                b = torch.tensor([[1.0]] + [[2.0 ** -(digits - digits // 2)]] * 2 + [[tiny * tiny]]).to(dtype)
                c = torch.ones(1, 1, dtype=dtype) * sign
                up = below > 0 or (below == 0 and last)
                wanted = np.full((1, 1), sign * (1 + 2 * half * (last + up)), np.float32)
                self.held([wanted] * 2, lambda: (torch.mm(a * sign, b), torch.addmm(c, a[:, 1:] * sign, b[1:])), "mm addmm")

    def test_batches_vectors_and_linear_layers(self):
        for dtype in DTYPES:
            a, b, c, bias = (numbers(i, *shape, dtype=dtype) for i, shape in
                             enumerate(((3, 4, 13), (3, 13, 5), (3, 4, 5), (5,))))
            each = [exact(x, y, dtype) for x, y in zip(a, b)]
            self.held([np.stack(each), np.stack([exact(x, y, dtype, bias) for x, y in zip(a, b)])],
                      lambda: (torch.bmm(a, b), torch.baddbmm(bias, a, b)), "bmm baddbmm")
            one = exact(a[0], b[0], dtype, bias, beta=-0.3)
            self.held([exact(a[0], b[0, :, :1], dtype, c[0, :, :1], 0.7, -0.3)[:, 0], each[0][:, 0], each[0][0, 0], one],
                      lambda: (torch.addmv(c[0, :, 0], a[0], b[0, :, 0], alpha=0.7, beta=-0.3), torch.mv(a[0], b[0, :, 0]),
                               torch.dot(a[0, 0], b[0, :, 0]), torch.addmm(bias, a[0], b[0], beta=-0.3)), "addmv mv dot addmm")
            x, w = leaves(a[0], b[0].t())

            def call():
                y = F.linear(x, w, bias)
                return y, *torch.autograd.grad(y, (x, w), c[0])
            self.held([exact(a[0], b[0], dtype, bias), exact(c[0], b[0].t(), dtype), exact(c[0].t(), a[0], dtype)], call,
                      "addmm mm")
            self.held([np.zeros((2, 2), np.float32), values(c[0])],
                      lambda: (torch.zeros(2, 0, dtype=dtype) @ torch.zeros(0, 2, dtype=dtype),
                               torch.addmm(c[0], torch.zeros(4, 0, dtype=dtype), torch.zeros(0, 5, dtype=dtype))), "mm addmm")

    def test_convolutions_with_their_bias_inside(self):
        for dtype, groups in itertools.product(DTYPES, (1, 2, 4)):
            x, w, bias = (numbers(i, *shape, dtype=dtype) for i, shape in enumerate(((2, 4, 5, 4), (4, 4 // groups, 3, 2), (4,))))
            g = oracle.Geometry((2, 1), (1, 1), (1, 2), groups)
            gy = numbers(3, 2, 4, 3, 4, dtype=dtype)
            # Every product of x and w and dy that there is, beside the elements that it belongs to.
            lists = [collections.defaultdict(list) for _ in range(3)]
            places, taps = oracle.taps((3, 4)), oracle.taps((3, 2))
            for n, f, p, c, tap in itertools.product(range(2), range(4), places, range(4 // groups), taps):
                place, channel = oracle.seen(p, tap, g), f * groups // 4 * (4 // groups) + c
                lists[0][(n, f) + p] += [] if c or any(tap) else [(float(bias[f]),)]
                if not oracle.inside(place, (5, 4)):
                    continue
                of_x, of_w, of_y = (n, channel) + place, (f, c) + tap, (n, f) + p
                lists[0][of_y].append((float(x[of_x]), float(w[of_w])))
                lists[1][of_x].append((float(gy[of_y]), float(w[of_w])))
                lists[2][of_w].append((float(gy[of_y]), float(x[of_x])))
            wanted = [np.zeros(part.shape, np.float32) for part in (gy, x, w)]
            for part, terms in zip(wanted, lists):
                for at, of in terms.items():
                    part[at] = summed(of, dtype)
            given = leaves(x, w)

            def call():
                y = F.conv2d(*given, bias, g.stride, g.padding, g.dilation, groups)
                return y, *torch.autograd.grad(y, given, gy)
            self.held(wanted, call, "convolution convolution_backward")

    def test_attention_has_exact_scores(self):
        if not hasattr(torch.ops.aten, "_scaled_dot_product_flash_attention_for_cpu"):
            self.skipTest("this torch has no fused attention for the CPU")
        q, k, v = (numbers(i, 1, 1, 5, 6, dtype=torch.float16) / 2**12 for i in range(3))
        for attention, function, dtype in (("flash", attention_products.flash_forward, torch.float32),
                                           ("low_precision", attention_products.low_precision_forward, torch.float16)):
            def multiply(a, b):
                return torch.stack([torch.from_numpy(exact(x, y, dtype)) for x, y in zip(a, b)]).to(dtype)
            wanted, _ = function(multiply, q, k, v, dropout_p=0.0, is_causal=False, attn_mask=None, scale=None)
            with binade.torch.tensor_cores("sm_80", order="reference", attention=attention):
                self.equal(F.scaled_dot_product_attention(q, k, v), values(wanted))

    def test_a_function_may_order_it_for_some_kinds(self):
        def order(kind, dtype):
            return "reference" if kind == "dot" else None
        x = torch.ones(3)
        with binade.torch.tensor_cores("sm_80", order=order) as mode:
            torch.dot(x, x)
            torch.mm(x[None], x[:, None])
        self.assertEqual([one.how for one in mode.covered()], [HOW, "fma.rn.f32.f32.f32.f32"])

    def test_another_word_is_refused_in_a_line(self):
        with self.assertRaisesRegex(ValueError, r"\Aorder 'exact': [^\n]+\Z"):
            binade.torch.tensor_cores("sm_80", order="exact")


if __name__ == "__main__":
    main()
