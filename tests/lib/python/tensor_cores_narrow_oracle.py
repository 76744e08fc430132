# SPDX-License-Identifier: Apache-2.0
"""Matrix products of ordinary tensors in narrow formats, by the definitions: each operand is multiplied by a power of two, element
by element, rounded to its format and encoded; binade.gemm multiplies; the sums are multiplied by the inverse powers, exactly except
for one rounding. It uses NumPy only; operands and results are float32 arrays of the values."""
import collections
import fractions

import numpy as np
import tensor_cores_oracle as oracle

import binade

# As tensor_cores() takes them; scale is None, "amax", "row", "1xN" or "NxN".
Recipe = collections.namedtuple("Recipe", "operands backward scale promote_every", defaults=(None, None, None))
FP8 = {"sm_89": "mma.m16n8k32.f32.{}.{}.f32", "sm_90": "wgmma.m64n8k32.f32.{}.{}", "sm_100": "mma.m16n8k32.f32.{}.{}.f32",
       "sm_120": "mma.m16n8k32.f32.{}.{}.f32"}
LARGEST_POWER = 126  # beyond it the inverse were no normal number of binary32
NARROW_TYPES = ("e2m1", "e2m3", "e3m2", "e4m3", "e5m2")  # all of these only on sm_120; the others have the last two


def holds(wide, narrow):
    """Whether every number of one format is one of the other."""
    wide, narrow = binade.Format(wide), binade.Format(narrow)
    return wide.precision >= narrow.precision and wide.max >= narrow.max and wide.min_positive <= narrow.min_positive


def instruction(arch, a, b):
    """The narrowest of the architecture's usual ones that holds both formats: (its name, its operands' types)."""
    types = NARROW_TYPES if arch == "sm_120" else NARROW_TYPES[3:] if arch in FP8 else ()
    of = [next((t for t in types if holds(t, x)), None) for x in (a, b)]
    if all(of):
        return FP8[arch].format(*of), tuple(of)
    old = arch in oracle.HALF
    names = [("binary16", oracle.HALF.get(arch, "mma.m16n8k16.f32.f16.f16.f32"))]
    names += [] if old else [("bfloat16", "mma.m16n8k16.f32.bf16.bf16.f32"), ("tf32", "mma.m16n8k8.f32.tf32.tf32.f32")]
    names += [("binary32", "fma.rn.f32.f32.f32.f32")]
    return next((name, (wide, wide)) for wide, name in names if holds(wide, a) and holds(wide, b))


def power(elements, format):
    """The exponent of the largest power of two that keeps their largest magnitude within the format's largest number."""
    largest = max((abs(float(x)) for x in elements if x == x), default=0.0)
    if largest in (0, float("inf")):
        return 0
    room = fractions.Fraction(binade.Format(format).max) / fractions.Fraction(largest)
    exponent = room.numerator.bit_length() - room.denominator.bit_length()  # 2^exponent is at most twice the room
    while fractions.Fraction(2) ** exponent > room:
        exponent -= 1
    return min(exponent, LARGEST_POWER)


def powers(x, format, scale, role, whole):
    """The exponent of every element of x, (these, K); whole: the tensor that it was gathered from."""
    these, k = x.shape
    exponents = np.zeros(x.shape, np.int64)
    if scale == "amax":
        exponents += power(whole.ravel(), format)
    elif scale is not None:
        tall, wide = (1, max(k, 1)) if scale == "row" else map(int, scale.split("x"))
        tall = tall if role == "w" else 1
        for i in range(0, these, tall):
            for j in range(0, k, wide):
                exponents[i : i + tall, j : j + wide] = power(x[i : i + tall, j : j + wide].ravel(), format)
    return exponents


def rounded(x, exponents, format):
    saturation = "finite" if binade.Format(format).bits <= 8 else "none"
    return binade.quantize(np.ldexp(x.astype(np.float64), exponents), format, saturation=saturation)


def once(x, y):
    """x + y of float64 arrays with one rounding to float32: to odd first, which the second rounding does not notice."""
    with np.errstate(all="ignore"):
        total = x + y
        late = total - x
        error = (x - (total - late)) + (y - late)
        even = (total.view(np.int64) & 1) == 0
        inexact = np.isfinite(total) & (error != 0) & even
        return np.where(inexact, np.nextafter(total, np.copysign(np.inf, error)), total).astype(np.float32)


def sums(a, b, model, types):
    """One call of binade.gemm, of encodings where the type is narrower than binary32."""
    if a.shape[1] == 0:
        return np.zeros((len(a), b.shape[1]), np.float32)
    a, b = (np.ascontiguousarray(x, np.float32) if t in ("tf32", "binary32") else binade.encode(np.ascontiguousarray(x), t)
            for x, t in zip((a, b), types))
    return binade.gemm(a, b, model=model)


def scaled(total, left, right):
    """Times the inverse of both operands' powers, in float64, which holds that: all of one row's or column's are the same."""
    total = total.astype(np.float64)
    return np.ldexp(total, -(left[:, :1] + right[:1])) if left.size and right.size else total


def epilogue(total, dtype, c=None, alpha=1, beta=1, bias=None):
    with np.errstate(all="ignore"):
        if c is not None and beta != 0:
            total = once(alpha * total.astype(np.float64), (np.float32(beta) * c).astype(np.float64))
        elif alpha != 1:
            total = np.float32(alpha) * total
        total = total if bias is None else total + bias
        return oracle.values(binade.quantize(total.astype(np.float32), oracle.FORMATS[dtype]), "float32")


def product(a, b, roles, recipe, arch, dtype, whole=(None, None), order=None, **more):
    """alpha·A·B + beta·C + bias; roles: what A and B are, "x" an activation, "w" a weight, "d" a gradient. whole: the tensors
    they were gathered from. order: the GemmModel and the types of its operands, in place of the architecture's."""
    if recipe is None:
        return oracle.product(a, b, arch, dtype, **more)
    formats = [recipe.backward or recipe.operands if role == "d" else recipe.operands for role in roles]
    name, types = instruction(arch, *formats)
    every = {} if recipe.promote_every is None else {"promote_every": recipe.promote_every}
    model = binade.GemmModel(name, None if name.startswith("fma") else arch, **every) if order is None else order[0]
    types = types if order is None else order[1]
    whole = [x if w is None else w for w, x in zip(whole, (a, b))]
    left = powers(a, formats[0], recipe.scale, roles[0], whole[0])
    right = powers(b.T, formats[1], recipe.scale, roles[1], whole[1]).T
    a, b = rounded(a, left, formats[0]), rounded(b, right, formats[1])
    k = a.shape[1]
    if recipe.scale is None or not recipe.scale[0].isdigit():
        total = scaled(sums(a, b, model, types), left, right)
        with np.errstate(all="ignore"):
            return epilogue(total.astype(np.float32), dtype, **more)
    total, step = np.zeros((len(a), b.shape[1]), np.float32), int(recipe.scale.split("x")[1])
    for i in range(0, k, step):
        own = slice(i, i + step)
        total = once(total.astype(np.float64), scaled(sums(a[:, own], b[own], model, types), left[:, own], right[own]))
    return epilogue(total, dtype, **more)


def multiplying(roles, recipe, whole):
    """As tensor_cores_oracle's convolutions take their multiply."""
    def multiply(a, b, **rule):
        return product(a, b, roles, recipe, whole=whole, **rule)
    return multiply


def convolution(x, w, gy, g, size, bias, recipe, **rule):
    """Y, dX, dW."""
    return (oracle.forward(x, w, g, size, bias, multiplying("xw", recipe, (x, w)), **rule),
            oracle.input_gradient(gy, w, g, x.shape[2:], None, multiplying("dw", recipe, (gy, w)), **rule),
            oracle.weight_gradient(gy, x, g, w.shape[2:], multiplying("dx", recipe, (gy, x)), **rule))


def transposed_convolution(x, w, gy, g, size, bias, recipe, **rule):
    return (oracle.input_gradient(x, w, g, size, bias, multiplying("xw", recipe, (x, w)), **rule),
            oracle.forward(gy, w, g, x.shape[2:], None, multiplying("dw", recipe, (gy, w)), **rule),
            oracle.weight_gradient(x, gy, g, w.shape[2:], multiplying("xd", recipe, (x, gy)), **rule))
