# SPDX-License-Identifier: Apache-2.0
#
"""Independent oracle for the rules by which stacks quantize blocks that share a scale (standard library only).

It was written from the sources of the stacks, each named at its rule, by someone who had not read emulate/. A binary32 number
is its bits, an int; each operation of a source is one of mul, div, add, computed in exact integers and rounded once, to nearest
even. No instruction of the machine's binary32 takes part.

    RULES[name, scale format, tensor scale, element format](block, element, tensor_amax, dtype) -> Result

block: a list of bits. dtype: of the tensor, "binary32", "bfloat16" or "binary16", in which some stacks compute. tensor_amax: bits of
the largest magnitude of the tensor, where a second scale lies over that of the block; the block's own counts, too. Result.scale:
the code of the scale by which elements are multiplied when they are read; None where the source leaves it open, and then the
elements, too, but where they are known. Result.codes: for each element a code, or a tuple of codes that are all right (of a NaN,
whose sign and payload no source specifies), or None (open). Result.tensor: bits of the scale of the tensor, or None where the stack
stores another number in its place.

What an x86 CPU, PyTorch on it, or the specified part of PTX computes is taken. Approximations of a stack (log2,
rcp.approx.ftz) are taken as correctly rounded.
"""
from bisect import bisect_right
from collections import namedtuple
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import ceil

Result = namedtuple("Result", "scale codes tensor", defaults=[None])

# ---- binary32 as integers

SIGN, MAGNITUDE, FRACTION = 0x80000000, 0x7FFFFFFF, 0x7FFFFF
INF, NAN, LARGEST, SMALLEST_NORMAL, ONE = 0x7F800000, 0x7FC00000, 0x7F7FFFFF, 0x00800000, 0x3F800000


def is_nan(bits):
    return bits & MAGNITUDE > INF


def unpack(bits):
    """(m, e) of a finite number: its magnitude is m * 2^e."""
    field = bits >> 23 & 255
    return (bits & FRACTION | 0x800000, field - 150) if field else (bits & FRACTION, -149)


def rounded(sign, n, d=1, e=0):
    """Bits of (-1)^sign n/d 2^e, to nearest even, with subnormal numbers; what is too large is infinite."""
    if n == 0:
        return sign << 31
    shift = max(0, 26 + d.bit_length() - n.bit_length())  # a quotient of 26 bits at least; the remainder is a sticky bit
    q, rest = divmod(n << shift, d)
    lowest = max(e - shift + q.bit_length() - 24, -149)  # exponent of the last bit
    drop = lowest - e + shift
    m, tail = q >> drop, q & (1 << drop) - 1
    half = 1 << drop - 1
    if tail > half or tail == half and (rest or m & 1):
        m += 1
    return sign << 31 | min((lowest + 149 << 23) + m, INF)  # m has its hidden bit, so it carries into the exponent


@lru_cache(maxsize=1000)
def of(number):
    """Bits of a non-negative number: an int, a float, a Fraction, or text."""
    number = Fraction(number)
    return rounded(0, number.numerator, number.denominator)


def number(bits):
    """A finite number, exactly."""
    m, e = unpack(bits)
    return Fraction(-m if bits >> 31 else m) * Fraction(2) ** e


def power(e):
    """Bits of 2^e."""
    return rounded(0, 1, 1, e)


def mul(a, b):
    sign, x, y = (a ^ b) >> 31, a & MAGNITUDE, b & MAGNITUDE
    if x >= INF or y >= INF:
        return NAN if x > INF or y > INF or not x or not y else sign << 31 | INF
    (m, e), (n, f) = unpack(x), unpack(y)
    return rounded(sign, m * n, 1, e + f)


def div(a, b):
    sign, x, y = (a ^ b) >> 31, a & MAGNITUDE, b & MAGNITUDE
    if x > INF or y > INF or x == y and x in (0, INF):
        return NAN
    if x == INF or y == 0:
        return sign << 31 | INF
    if y == INF:
        return sign << 31
    (m, e), (n, f) = unpack(x), unpack(y)
    return rounded(sign, m, n, e - f)


def add(a, b):
    x, y = a & MAGNITUDE, b & MAGNITUDE
    if x > INF or y > INF or x == y == INF and a != b:
        return NAN
    if x == INF or y == INF:
        return a if x == INF else b
    (m, e), (n, f) = unpack(x), unpack(y)
    lowest = min(e, f)
    total = (-m if a >> 31 else m) * 2 ** (e - lowest) + (-n if b >> 31 else n) * 2 ** (f - lowest)
    return rounded(int(total < 0), abs(total), 1, lowest) if total else a & b & SIGN


# Of a dtype: its bits of precision, the exponent of its lowest bit, its largest and its least normal number.
Dtype = namedtuple("Dtype", "precision lowest largest least_normal")
DTYPES = {
    "binary32": Dtype(24, -149, LARGEST, SMALLEST_NORMAL),
    "bfloat16": Dtype(8, -133, 0x7F7F0000, SMALLEST_NORMAL),
    "binary16": Dtype(11, -24, of(65504), of(Fraction(1, 1 << 14))),
}


def held(dtype, x):
    """A non-negative x rounded to a dtype, to nearest even. torch computes in binary32 and rounds each result so."""
    if x >= INF:
        return x
    m, e = unpack(x)
    unit = max(e + m.bit_length() - dtype.precision, dtype.lowest)
    if unit <= e:
        return x if x <= dtype.largest else INF
    n, rest = divmod(m, 1 << unit - e)
    twice = 2 * rest - (1 << unit - e)
    n += twice > 0 or twice == 0 and n & 1
    out = rounded(0, n, 1, unit)
    return out if out <= dtype.largest else INF


# Of bits without a sign, min(x, limit) is fminf, which lets a NaN become the limit, and max(x, limit) is
# torch.clamp(min=limit), which keeps it: as an integer a NaN is above all numbers.
def at_most(x, limit):
    """torch.clamp(max=limit), which keeps a NaN."""
    return x if is_nan(x) else min(x, limit)


def flush(x):
    """x, or a zero of its sign where it is subnormal."""
    return x & SIGN if x & MAGNITUDE < SMALLEST_NORMAL else x


def mul_ftz(a, b):
    """mul.ftz.f32, or v_mul_f32 in a mode that flushes: operands and results that are subnormal are 0."""
    return flush(mul(flush(a), flush(b)))


def rcp_ftz(x):
    """1/x where operands and results that are subnormal are 0: __fdiv_rn of a build with .ftz. rcp.approx.ftz.f32, which is
    specified to an ulp only, is taken as it, and v_rcp_f32."""
    return flush(div(ONE, flush(x)))


def ceil_log2(x, sign=1):
    """ceil(sign · log2f(x)) of x > 0, where log2f rounds correctly. Beside a large power of two that is the power itself."""
    m, e = unpack(x)
    if m & m - 1 == 0:
        return sign * (e + m.bit_length() - 1)
    with localcontext() as context:
        context.prec = 50
        log = Fraction(Decimal(m).ln() / Decimal(2).ln()) + e
    return ceil(sign * number(rounded(int(log < 0), abs(log.numerator), log.denominator)))


def field_up(x):
    """The exponent field of the power of two not below x, where subnormal numbers count as 2^-126."""
    return (x >> 23) + (x & FRACTION != 0)


def e8m0_up(x):
    """The E8M0 code not below x, cvt.rp.ue8m0x2.f32 without its specials: 2^-127, code 0, is a subnormal number here."""
    return field_up(x) if x >= SMALLEST_NORMAL else int(x > 0x400000)


# ---- elements


class Element:
    """A format of elements: its magnitudes by code, the codes of NaN, and from which bits on a code is that of a number."""

    def __init__(self, name, bits, magnitudes, nans=(), two_zeros=True, integer=False):
        self.name, self.sign, self.magnitudes = name, 1 << bits - 1, magnitudes
        self.nans, self.two_zeros, self.integer = tuple(nans), two_zeros, integer
        self.last = len(magnitudes) - 1
        self.max, self.reciprocal = of(magnitudes[-1]), of(1 / magnitudes[-1])
        self.emax = (self.max >> 23) - 127
        middles = [of((a + b) / 2) for a, b in zip(magnitudes, magnitudes[1:])]
        self.from_even = [x + (code % 2 == 0) for code, x in enumerate(middles)]
        self.from_down = [x + 1 for x in middles]
        self.numbers = [of(x) for x in magnitudes]

        # Of e4m3 and e5m2 the code whose bits below the sign are set; of the fnuz formats the one that there is.
        self.nan_code = self.nans and (0x7F if 0x7F in self.nans else self.nans[0])

    def nan_or(self, code):
        return self.nans or code


def floating(name, bits, exponent_bits, bias, count, nans=(), two_zeros=True):
    fraction_bits = bits - 1 - exponent_bits
    magnitudes = []
    for code in range(count):
        field, fraction = code >> fraction_bits, code & (1 << fraction_bits) - 1
        hidden = 1 << fraction_bits if field else 0
        magnitudes.append(Fraction(fraction + hidden) * Fraction(2) ** (max(field, 1) - bias - fraction_bits))
    element = Element(name, bits, magnitudes, nans, two_zeros)
    element.fraction_bits, element.bias = fraction_bits, bias
    return element


E5M2_NANS = (0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF)
ELEMENTS = {element.name: element for element in (
    floating("e4m3", 8, 4, 7, 127, (0x7F, 0xFF)),
    floating("e5m2", 8, 5, 15, 124, E5M2_NANS),
    floating("e4m3fnuz", 8, 4, 8, 128, (0x80,), two_zeros=False),
    floating("e5m2fnuz", 8, 5, 16, 128, (0x80,), two_zeros=False),
    floating("e3m2", 6, 3, 3, 32),
    floating("e2m3", 6, 2, 1, 32),
    floating("e2m1", 4, 2, 1, 8),
    Element("int8", 8, [Fraction(k, 64) for k in range(128)], two_zeros=False, integer=True),
)}
E4M3, E2M1 = ELEMENTS["e4m3"], ELEMENTS["e2m1"]


def convert(element, y, nan, down=False, zero="kept"):
    """The code of y, to nearest, saturated, infinities too; nan is that of a NaN. down: ties toward zero, not to even.
    zero: "kept", its sign is; "plus", -0 becomes +0, but not what is rounded to it; "minus", +0 becomes -0; "never", no -0."""
    magnitude, negative = y & MAGNITUDE, y >> 31
    if magnitude > INF:
        return nan
    code = bisect_right(element.from_down if down else element.from_even, magnitude)
    if zero == "plus" and magnitude == 0 or (zero == "never" or not element.two_zeros) and code == 0:
        negative = 0
    if zero == "minus" and magnitude == 0:
        negative = 1
    if not negative:
        return code
    return -code & 0xFF if element.integer else code | element.sign


def cvt(element, ys):
    """PTX's cvt.rn.satfinite: NaN is 7F, and of a format without NaN the largest number."""
    return [convert(element, y, element.nan_code or element.last) for y in ys]


def torch_cast(element, ys):
    """torch's casts to 8 bits, of whose NaN all bits below the sign are set, and torchao's to fewer, custom_fp_utils.py,
    _f32_to_floatx_unpacked: there a NaN goes down the branch of normal numbers, and becomes a number of its bits, whose sign is
    the machine's."""
    if element.nans:
        codes = (element.nan_code, element.nan_code | element.sign)
        return [convert(element, y, codes) for y in ys]
    shift = 23 - element.fraction_bits
    code = (NAN + (element.bias - 127 << 23) + (1 << shift - 1) - 1 + (NAN >> shift & 1) >> shift) & element.sign - 1
    return [convert(element, y, (code, code | element.sign)) for y in ys]


def all_mul(block, factor):
    return [mul(x, factor) for x in block]


def all_div(block, divisor):
    return [div(x, divisor) for x in block]


def amax_kept(block):
    """torch.amax(torch.abs(x)): NaN if there is one."""
    most = max(x & MAGNITUDE for x in block)
    return NAN if most > INF else most


def amax_skipped(block):
    """fmaxf from 0, __hmax2: NaN is passed over."""
    return max((x & MAGNITUDE for x in block if not is_nan(x)), default=0)


def scalar_quotient(a, number_bits, cuda):
    """tensor / number: a division on CPUs; CUDA's torch multiplies by the number's reciprocal (BinaryDivTrueKernel.cu)."""
    return mul(a, div(ONE, number_bits)) if cuda else div(a, number_bits)


RULES = {}


def rule(names, scale, elements, tensor=False, by_dtype=False, **parameters):
    """Enters a function under its names; names may be a dict from a name to further parameters. by_dtype: it takes the dtype."""
    def enter(function):
        for name in names:
            further = {**parameters, **(names[name] if isinstance(names, dict) else {})}
            for element in elements:
                key = (name, scale, tensor, element)
                assert key not in RULES, key
                RULES[key] = lambda block, element, tensor_amax=0, dtype="binary32", further=further: function(
                    block, ELEMENTS[element], *([tensor_amax] if tensor else []),
                    **({"dtype": DTYPES[dtype]} if by_dtype else {}), **further)
        return function
    return enter


# ---- scales that are powers of two, E8M0


@rule(["ocp"], "e8m0", ELEMENTS)
def ocp(block, element):
    """OCP Microscaling Formats MX 1.0, 6.3; microsoft/microxcaling 7bc4195, mx/mx_ops.py, _quantize_mx.

    Nothing but the elements is rounded. The scale of a block of zeros is free: byte 0 is microxcaling's. Of Inf and NaN the
    specification says nothing: the block is NaN, and elements that cannot be are open."""
    amax = amax_kept(block)
    if amax >= INF:
        return Result(255, [element.nan_or(None)] * len(block))
    m, e = unpack(amax)
    code = max(0, min(e + m.bit_length() - 1 - element.emax + 127, 254)) if m else 0
    return Result(code, [convert(element, y, None) for y in all_mul(block, power(127 - code))])


@rule({"torchao_" + step: {"step": step} for step in ("floor", "ceil", "even", "rceil")}, "e8m0",
      ["e4m3", "e5m2", "e3m2", "e2m3", "e2m1"])
def torchao_mx(block, element, step):
    """pytorch/ao 36027d8, torchao/prototype/mx_formats/mx_tensor.py, to_mx, _to_mx_rceil.

    Exponent fields, in which a subnormal amax has 0; "even" adds half a unit of the element to amax, so ties go up. rceil
    multiplies by 1/m, rounded. Inf or NaN: byte 255, whose reciprocal is NaN, for all elements."""
    amax = amax_kept(block)
    if step == "rceil":
        quotient = mul(amax, element.reciprocal)
        code = 255 if quotient >= INF else e8m0_up(quotient)
    else:
        if step == "even" and not is_nan(amax):
            amax = amax + (1 << 22 - element.fraction_bits) & INF
        code = 255 if amax >= INF else max(0, (field_up(amax) if step == "ceil" else amax >> 23) - element.emax)
    return Result(code, torch_cast(element, all_mul(block, NAN if code == 255 else power(127 - code))))


@rule({**{"torchao018_" + step: {"step": step, "cuda": False} for step in ("floor", "ceil", "even", "rceil")},
       "torchao018_rceil_cuda": {"step": "rceil", "cuda": True}}, "e8m0", ["e4m3", "e5m2", "e3m2", "e2m3", "e2m1"])
def torchao018_mx(block, element, step, cuda):
    """torchao 0.18.0 of PyPI, torchao/prototype/mx_formats/mx_tensor.py, to_mx, _to_mx_rceil, in eager mode.

    Exponents are clamped in integers, so an infinite amax has the field 255; x / scale, where the scale is the byte shifted into
    binary32, 2^-126 at least. rceil: ceil(log2(amax / m)), Inf gives FE; multiplied by 2^(127 - code), by 1 where the code is 0."""
    amax = amax_kept(block)
    if step == "rceil":
        descale = scalar_quotient(amax, element.max, cuda)
        if descale >= INF:
            code = 255 if is_nan(descale) else 254
        else:
            code = max(0, min(ceil_log2(descale) + 127, 254)) if descale else 0
        factor = NAN if code == 255 else power(0) if code == 0 else power(127 - code)
        return Result(code, torch_cast(element, all_mul(block, factor)))
    if is_nan(amax):
        return Result(255, torch_cast(element, all_div(block, INF)))
    if step == "even":
        amax = amax + (1 << 22 - element.fraction_bits) & INF
    code = max(0, (field_up(amax) if step == "ceil" else amax >> 23) - element.emax)
    return Result(code, torch_cast(element, all_div(block, max(code << 23, SMALLEST_NORMAL))))


@rule(["te"], "e8m0", ["e4m3", "e5m2"])
def te_mxfp8(block, element):
    """NVIDIA/TransformerEngine d0067d0, common/cast/mxfp8/quantize_mxfp8.cuh, common/util/ptx.cuh.

    cvt.rp.satfinite.ue8m0x2.f32 of amax * (1/m): Inf gives FE. A NaN does not enter amax."""
    quotient = mul(amax_skipped(block), element.reciprocal)
    code = 254 if quotient == INF else min(e8m0_up(quotient), 254)
    return Result(code, cvt(element, all_mul(block, power(127 - code))))


def aiter_byte(quotient, up):
    """fp_f32_to_e8m0_scale: the exponent field, one more where a fraction bit is set, but 255 stays."""
    field = quotient >> 23
    return field + 1 if up and field < 255 and quotient & FRACTION else field


@rule({"aiter_up": {"step": "up"}, "aiter_down": {"step": "down"}, "aiter_ceil": {"step": "ceil"}, "aiter_even": {"step": "even"}},
      "e8m0", ["e2m1"])
def aiter_mxfp4(block, element, step):
    """ROCm/aiter e404860, csrc/kernels/quant_mxfp4.cu, quant_mxfp4_kernel, as without gfx950;
    csrc/include/mx_quant_utils.h, fp_f32_to_e8m0_scale.

    RoundUp multiplies amax by 1/6, RoundDown and Ceil by 1/4, and the byte is shifted into a scale of binary32. Even is code of
    its own, with log2f and exp2f, whose 2^-127 is flushed (aiter/jit/core.py, flags_hip, builds so that all of binary32 is): 0. Under
    a scale of 0 all is multiplied by 0, else by 1 / scale, which is 0 of 2^127, flushed, and of Inf. fmaxf flushes amax, too, and
    the products are: bfloat16 reaches there with subnormal numbers. even_round_e2m1: NaN is 0; y < 0 has the sign."""
    amax = flush(amax_skipped(block))
    if step == "even":
        field = amax + (1 << 21) >> 23
        code = 254 if field == 255 else max(field - 2, 0)
        scale = flush(power(code - 127))
    else:
        quotient = mul_ftz(amax, element.reciprocal if step == "up" else power(-2))
        code = aiter_byte(quotient, step != "down")
        scale = code << 23
    factor = rcp_ftz(scale) if scale else 0
    return Result(code, [convert(E2M1, mul_ftz(x, factor), 0, zero="plus") for x in block])


@rule({"aiter": {"floor": "1e-10"}}, "e8m0", ["e2m1"])
@rule({"aiter": {"floor": "1e-10"}, "aiter_rope": {"floor": "1e-8"}}, "e8m0", ["e4m3", "e4m3fnuz"])
def aiter_kernels(block, element, floor):
    """ROCm/aiter e404860, csrc/kernels/quant_kernels.cu, dynamic_per_group_scaled_quant_kernel and others (1e-10);
    inverse_rope_group_quant.cu, fused_qk_norm_rope_cache_quant.cu (1e-8).

    RoundUp from an amax of the floor at least. FP8: x * (1 / scale), clamped by v_med3_f32 (of NaN the smaller limit), and cast;
    1 / Inf is 0. FP4 is gfx950's cvt_scalef32_pk_fp4: taken as cvt of x / scale; what it makes of the scale Inf is open."""
    quotient = mul(max(amax_skipped(block), of(floor)), element.reciprocal)
    code = aiter_byte(quotient, True)
    ys = all_mul(block, 0 if code == 255 else power(127 - code))
    if element is E2M1:
        return Result(code, [None] * len(block) if code == 255 else cvt(element, ys))
    return Result(code, clamped_by_fmaxf(element, ys))


def payload_in_e2m1(element, y):
    """_mxfp4_quant_op: NaN is not below 1 nor at least 6, so its bits are rebiased and rounded as a number's."""
    if not is_nan(y):
        return convert(element, y, None)
    code = ((y & MAGNITUDE) - (126 << 23) + (1 << 21) - 1 + (y >> 22 & 1) & 0xFFFFFFFF) >> 22 & 7
    return code, code | 8


@rule(["aiter_triton"], "e8m0", ["e2m1", "e4m3"])
def aiter_triton(block, element):
    """ROCm/aiter e404860, aiter/ops/triton/_triton_kernels/quant/quant.py, _mxfp4_quant_op, _mxfp8_quant_op.

    tl.max passes over NaN. Both add 2^21 to the bits of amax: half a unit of E2M1, and more than that of E4M3. floor(log2()) - 2
    or - 8, held within [-127, 127], of 0 and Inf, too; Triton does not flush. FP8: what Inf becomes is open."""
    rounded = amax_skipped(block) + (1 << 21) & 0xFF800000
    e = -127 if rounded == 0 else 127 if rounded == INF else max((rounded >> 23) - 127 - element.emax, -127)
    ys = all_mul(block, power(-e))
    if element is E2M1:
        return Result(e + 127, [payload_in_e2m1(element, y) for y in ys])
    return Result(e + 127, [None if y & MAGNITUDE == INF else convert(element, y, element.nans) for y in ys])


@rule({"triton_kernels": {"down": False}, "triton_kernels_down": {"down": True}}, "e8m0", ["e4m3", "e5m2", "e2m1"])
def triton_kernels(block, element, down):
    """triton-lang/triton 018a674, python/triton_kernels/triton_kernels/numerics_details, mxfp_details/_downcast_to_mxfp.py,
    _compute_quant_and_scale with ROUND_UP and ROUND_DOWN; mxfp.py, downcast_to_mxfp_torch.

    tl.max passes over NaN. amax / m, 0x7FFFFF added to its bits, or amax / 2^p; then the exponent field as a scale of binary32: 0
    for byte 0, under which all is multiplied by 0, and Inf for FF. Triton's / of binary32 is taken as correctly rounded. Elements
    by cvt.satfinite; before compute capability 10 FP4 are integer steps that keep the sign of a NaN."""
    amax = amax_skipped(block)
    quotient = div(amax, power(element.emax) if down else element.max)
    code = (quotient if down else quotient + 0x7FFFFF) >> 23
    factor = div(ONE, code << 23) if code else 0
    nan = (7, 15) if element is E2M1 else element.nans
    return Result(code, [convert(element, y, nan) for y in all_mul(block, factor)])


def deepgemm_elements(element, ys):
    """math.py, _quantize_to_fp4_e2m1: ties toward zero, no -0, NaN is 0. FP8: torch's cast."""
    return [convert(E2M1, y, 0, True, "never") for y in ys] if element is E2M1 else torch_cast(element, ys)


def deepgemm_scale(block, element, divides):
    return scalar_quotient(max(amax_kept(block), of("1e-4")), element.max, not divides)


@rule(["deepgemm"], "e8m0", ["e4m3", "e2m1"])
def deepgemm_ue8m0(block, element):
    """deepseek-ai/DeepGEMM 54e2261, deep_gemm/utils/math.py, per_token_cast_to_fp8, per_token_cast_to_fp4, ceil_to_ue8m0.

    The code is clamped to [1, 254], also that of Inf and NaN."""
    code = max(1, min(field_up(deepgemm_scale(block, element, divides=True)), 254))
    return Result(code, deepgemm_elements(element, all_mul(block, power(127 - code))))


@rule({"modelopt": {"cuda": False}, "modelopt_cuda": {"cuda": True}}, "e8m0", ["e4m3", "e2m1"])
def modelopt_mx(block, element, cuda):
    """NVIDIA/Model-Optimizer a2fbac7, modelopt/torch/quantization/qtensor/mxfp8_tensor.py, mxfp4_tensor.py.

    ceil(log2()) in binary32. FP8: a NaN gives byte 0. FP4 divides; ties toward zero; the sign bit is (2 - sign(y)) // 2, so
    that +0, -0 and NaN are -0. Under an Inf or NaN of the block all of it is 0 or NaN, hence -0, and the byte is a conversion
    that is not specified."""
    quotient = scalar_quotient(amax_kept(block), element.max, cuda)
    if element is E2M1 and quotient >= INF:
        return Result(None, [8] * len(block))
    if is_nan(quotient) or quotient == 0:
        code = 0
    else:
        code = 254 if quotient == INF else max(0, min(ceil_log2(quotient) + 127, 254))
    if element is E2M1:
        return Result(code, [convert(E2M1, y, 8, True, "minus") for y in all_div(block, power(code - 127))])
    return Result(code, torch_cast(element, all_mul(block, power(127 - code))))


def clamped_by_fmaxf(element, ys):
    """vLLM: fminf(fmaxf(y, -m), m), then the cast: a NaN becomes -m."""
    return [convert(element, y, element.last | element.sign) for y in ys]


@rule({"vllm": {"log2": False}, "vllm_log2": {"log2": True}}, "e8m0", ["e4m3"])
def vllm_ue8m0(block, element, log2):
    """vllm-project/vllm 0f5257e, csrc/quantization/w8a8/fp8/per_token_group_quant.cu: the kernel in registers takes the
    exponent field and multiplies, that in shared memory has exp2f(ceilf(log2f())) and divides.

    amax and the quotient are 1e-10 at least. The scale of Inf is Inf: numbers become 0, and Inf NaN, hence -448."""
    quotient = max(div(max(amax_skipped(block), of("1e-10")), element.max), of("1e-10"))
    code = 255 if quotient == INF else ceil_log2(quotient) + 127 if log2 else field_up(quotient)
    scale = code << 23
    return Result(code, clamped_by_fmaxf(element, all_div(block, scale) if log2 else all_mul(block, div(ONE, scale))))


@rule(["vllm"], "e8m0", ["e2m1"])
def vllm_mxfp4(block, element):
    """vllm-project/vllm 20b4ad8, csrc/libtorch_stable/quantization/fp4/nvfp4_utils.cuh, cvt_warp_fp16_to_fp4<UE8M0_SF=true>.

    Byte 0 is a scale of 0, under which all is 0."""
    code = max((amax_skipped(block) + (1 << 21) >> 23) - 2, 0)
    return Result(code, cvt(element, all_mul(block, power(127 - code) if code else 0)))


@rule({"flashinfer": {"fast": True}}, "e8m0", ["e2m1", "e4m3"])
@rule({"trtllm": {"fast": False}}, "e8m0", ["e2m1", "e4m3"])
def trtllm_mx(block, element, fast):
    """TensorRT-LLM 0193dbd, cpp/tensorrt_llm/kernels/quantization.cuh, cvt_warp_fp16_to_fp4<UE8M0_SF=true> with SFScale = 1,
    cvt_warp_fp16_to_mxfp8; FlashInfer fb28d72, csrc/nv_internal/tensorrt_llm/kernels/quantization_utils.cuh.

    __nv_cvt_float_to_e8m0 upward, saturated; then rcp.approx.ftz of the scale, of which 2^-127 is subnormal: 1 / 0; 0 where the
    quotient is 0. FlashInfer is built with -use_fast_math: subnormal numbers are 0 everywhere, so that code 0 is of the quotient
    0 alone, and exp2f(-127) is 0. FlashInfer's FP8: fmaxf(fminf(y, 448), -448), so a NaN is 448."""
    times = mul_ftz if fast else mul
    quotient = times(amax_skipped(block), rcp_ftz(element.max))
    code = 254 if quotient == INF else min(e8m0_up(quotient), 254)
    factor = rcp_ftz(power(code - 127)) if quotient else 0
    ys = [times(x, factor) for x in block]
    return Result(code, [convert(element, y, element.last) for y in ys] if fast else cvt(element, ys))


@rule(["compressed_tensors"], "e8m0", ["e2m1", "e2m3", "e4m3"])
def compressed_tensors_mx(block, element):
    """vllm-project/compressed-tensors 0.20.1, quantization/utils/mxfp_utils.py, generate_mx_scales.

    As torchao's EVEN, but with one fraction bit for E4M3, too; x / scale. The scale of Inf and NaN is Inf, under which numbers
    become 0; its byte is a conversion that is not specified. FP4: y < 0 has the sign."""
    bits = {"e2m1": 1, "e2m3": 3, "e4m3": 1}[element.name]
    field = min(amax_kept(block), INF) + (1 << 22 - bits) >> 23
    if field >= 255:
        return Result(None, [None] * len(block))
    code = max(field - element.emax, 0)
    ys = all_div(block, power(code - 127))
    return Result(code, [convert(E2M1, y, 7, zero="plus") for y in ys] if element is E2M1 else torch_cast(element, ys))


# ---- scales in binary32


@rule({"te": {"capped": True}, "te_current": {"capped": False}, "te_pow2": {"power_of_two": True}}, "binary32",
      ["e4m3", "e5m2"], by_dtype=True)
def te_f32(block, element, dtype, capped=True, power_of_two=False):
    """NVIDIA/TransformerEngine d0067d0, common/recipe/recipe_common.cuh, compute_scale_from_types, compute_scale_from_amax;
    common/recipe/current_scaling.cu.

    m / amax, 1 where amax is 0 or Inf; where it is Inf, the largest number of the input's dtype, in current scaling that of
    binary32; its fraction is cut off for a power of two. 1/scale is stored."""
    amax = amax_skipped(block)
    factor = ONE if amax in (0, INF) else div(element.max, amax)
    if factor == INF:
        factor = dtype.largest if capped else LARGEST
    if power_of_two:
        factor &= INF
    return Result(div(ONE, factor), cvt(element, all_mul(block, factor)))


def floor_log2(x):
    """floor(log2f(x)) of x > 0, where log2f rounds correctly."""
    return -ceil_log2(x, -1)


@rule({"torchao": {"power_of_two": False}, "torchao_pow2": {"power_of_two": True}}, "binary32",
      ["e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz"])
def torchao_f8(block, element, power_of_two):
    """pytorch/ao 36027d8, torchao/float8/float8_utils.py, amax_to_scale, _round_scale_down_to_power_of_2.

    scalar / tensor is reciprocal() * scalar in torch: two roundings to binary64, one to binary32. The factor is stored, and
    scaled_mm is given its reciprocal, which is the scale here. A power of two is exp2(floor(log2()))."""
    amax = amax_kept(block)
    if amax >= INF:
        factor = NAN if is_nan(amax) else 0
    else:
        factor = of(1.0 / max(float(number(amax)), 1e-12) * float(element.magnitudes[-1]))
        factor = power(floor_log2(factor)) if power_of_two else factor
    return Result(div(ONE, factor), torch_cast(element, all_mul(block, factor)))


@rule({"torchao_inference": {"cuda": False}, "torchao_inference_cuda": {"cuda": True}}, "binary32",
      ["e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz"], by_dtype=True)
def torchao_f8_inference(block, element, dtype, cuda):
    """pytorch/ao 36027d8, torchao/quantization/quant_primitives.py, _choose_scale_float8, _quantize_affine_float8: amax / m in
    the dtype of the input, and x / scale in binary32."""
    scale = held(dtype, scalar_quotient(amax_kept(block), element.max, cuda))
    return Result(scale, torch_cast(element, all_div(block, scale)))


@rule({"deepgemm": {"divides": True}, "deepgemm_cuda": {"divides": False}}, "binary32", ["e4m3", "e2m1"])
def deepgemm_f32(block, element, divides):
    """deepseek-ai/DeepGEMM 54e2261, deep_gemm/utils/math.py, with use_ue8m0=False.

    Elements are multiplied by 1/scale."""
    scale = deepgemm_scale(block, element, divides)
    return Result(scale, deepgemm_elements(element, all_mul(block, div(ONE, scale))))


@rule(["aiter"], "binary32", ["e4m3", "e4m3fnuz"])
def aiter_f32(block, element):
    """ROCm/aiter e404860, csrc/kernels/quant_kernels.cu, dynamic_per_group_scaled_quant_kernel with emit_e8m0_scale=false.

    amax, 1e-10 at least, times the reciprocal of m; x * (1 / scale), clamped by v_med3_f32."""
    scale = mul(max(amax_skipped(block), of("1e-10")), element.reciprocal)
    return Result(scale, clamped_by_fmaxf(element, all_mul(block, div(ONE, scale))))


@rule(["aiter_token"], "binary32", ["e4m3", "e4m3fnuz"])
def aiter_token(block, element):
    """ROCm/aiter e404860, csrc/kernels/quant_kernels.cu, dynamic_per_token_scaled_quant_kernel; scaled_quant_vgpr_impl.

    amax, which has no floor, times the reciprocal of m; x * v_rcp_f32(scale), clamped by v_med3_f32; flushed, as all of aiter is.
    Under a scale of 0 that is 0 * Inf, hence -m."""
    scale = mul_ftz(amax_skipped(block), element.reciprocal)
    return Result(scale, clamped_by_fmaxf(element, [mul_ftz(x, rcp_ftz(scale)) for x in block]))


@rule(["mslk"], "binary32", ["e4m3", "e4m3fnuz"])
def mslk_f32(block, element):
    """meta-pytorch/MSLK 2a3c897, mslk/quantize/triton/fp8_quantize.py, _kernel_quantize_fp8_row with eps_opt = 1/512.

    tl.max passes over NaN; div_rn twice. tl.clamp(y, -m, m) is min.xorsign.abs where there is one: a NaN has magnitude m."""
    scale = div(max(amax_skipped(block), power(-9)), element.max)
    nan = (element.last, element.last | element.sign)
    return Result(scale, [convert(element, y, nan) for y in all_div(block, scale)])


@rule(["vllm"], "binary32", ["e4m3"])
def vllm_f32(block, element):
    """vllm-project/vllm 0f5257e, csrc/quantization/w8a8/fp8/per_token_group_quant.cu, scale_ue8m0=false.

    Elements are divided by the scale. Inf / Inf and NaN become -448."""
    scale = div(max(amax_skipped(block), of("1e-10")), element.max)
    return Result(scale, clamped_by_fmaxf(element, all_div(block, scale)))


@rule(["deepseek"], "binary32", ["e4m3"])
def deepseek_f32(block, element):
    """deepseek-ai/DeepSeek-V3 9b4e978, inference/kernel.py, act_quant_kernel without scale_fmt.

    Triton: max passes over NaN; amax is 1e-4 at least; x / s, where / counts as correctly rounded."""
    scale = div(max(amax_skipped(block), of("1e-4")), element.max)
    return Result(scale, cvt(element, all_div(block, scale)))


# ---- E4M3 scales under a scale of the tensor: NVFP4

SIX, SIXTH, M_C = of(6), of(Fraction(1, 6)), of(6 * 448)


def e4m3_code(x):
    """cvt.rn.satfinite of x >= 0 or NaN."""
    return convert(E4M3, x, 0x7F)


def e4m3_number(code):
    return NAN if code == 0x7F else E4M3.numbers[code]


def te_tensor_factor(amax, m_c):
    """compute_global_encode_scaling_factor_FP4: 1 where amax is 0 or Inf."""
    factor = min(div(m_c, amax), LARGEST)
    return ONE if amax == 0 or factor == 0 else factor


def te_factor(code, tensor_factor):
    return min(div(ONE, mul(e4m3_number(code), div(ONE, tensor_factor))), LARGEST)


@rule(["te"], "ue4m3", ["e2m1"], tensor=True)
def te_nvfp4(block, element, tensor_amax):
    """NVIDIA/TransformerEngine d0067d0, common/cast/nvfp4/core_nvfp4.cuh, quantize_transpose_nvfp4.cuh.

    amax * (S * (1/6)). Code 0 has the largest number as its factor. The amax of the tensor is stored, not a scale."""
    amax = amax_skipped(block)
    tensor_factor = te_tensor_factor(max(amax, tensor_amax), M_C)
    code = e4m3_code(min(mul(amax, mul(tensor_factor, SIXTH)), LARGEST))
    return Result(code, cvt(element, all_mul(block, te_factor(code, tensor_factor))))


@rule({f"te_4over6{mse}{c}{fast}": {"squares": bool(mse), "c": 448 if c else 256, "fast": bool(fast)}
       for mse in ("", "_mse") for c, fast in (("", ""), ("_448", ""), ("", "_fast"))}, "ue4m3", ["e2m1"], tensor=True)
def te_4over6(block, element, tensor_amax, squares, c, fast):
    """NVIDIA/TransformerEngine d0067d0, common/cast/nvfp4/quantize_4over6_nvfp4.cuh;
    pytorch/custom_recipes/reference_nvfp4.py, _quantize_blockwise_4over6_reference.

    (amax / 6) * S, and 1.5 times as much, under which amax becomes 4: the latter where its error, summed in binary32 from the
    first of 16 to the last, is less (NaN is not). fast: the error before the scale of the tensor, where code * scale is exact.
    The sums of 16 rows (16x16) are added as a tree, r[i] + r[i + 8], + 4, + 2, + 1."""
    own, m_c = amax_skipped(block), of(6 * c)
    tensor_amax = max(own, tensor_amax)
    tensor_factor = te_tensor_factor(tensor_amax, m_c)
    base = mul(div(own, SIX), tensor_factor)
    candidates = []
    for wanted in (base, mul(base, of(1.5))):
        code = e4m3_code(min(wanted, of(448)))
        codes = cvt(element, all_mul(block, te_factor(code, tensor_factor)))
        sums = []
        for row in range(0, len(block), 16):
            total = 0
            for x, q in zip(block[row:row + 16], codes[row:row + 16]):
                value = mul(E2M1.numbers[q & 7] | q >> 3 << 31, e4m3_number(code))
                if fast:
                    error = add(value, mul(x, tensor_factor) ^ SIGN)
                else:
                    error = add(div(mul(value, tensor_amax), m_c), x ^ SIGN)
                total = add(total, mul(error, error) if squares else error & MAGNITUDE)
            sums.append(total)
        while len(sums) > 1:
            half = len(sums) // 2
            sums = [add(a, b) for a, b in zip(sums[:half], sums[half:])]
        candidates.append((sums[0], code, codes))
    (error_6, *six), (error_4, *four) = candidates
    return Result(*(four if error_4 < error_6 and not is_nan(error_6) else six))


@rule(["te_fast"], "ue4m3", ["e2m1"], tensor=True)
def te_nvfp4_fast(block, element, tensor_amax):
    """NVIDIA/TransformerEngine d0067d0, common/cast/nvfp4/specialized/quantize_transpose_nvfp4_tuned_1D.cuh with USE_FAST_MATH,
    compute_nvfp4_scaling_coefficient<bf16>; common/util/ptx_arch_spec.cuh, mul_cvt_bf16_to_fp4_8x_round_to_nearest.

    The factor is fminf(S / scale, the largest number of bfloat16), rounded to bfloat16; fma with +0, so that -0 becomes +0."""
    amax = amax_skipped(block)
    tensor_factor = te_tensor_factor(max(amax, tensor_amax), M_C)
    code = e4m3_code(min(mul(amax, mul(tensor_factor, SIXTH)), LARGEST))
    bfloat16 = DTYPES["bfloat16"]
    factor = held(bfloat16, min(div(tensor_factor, e4m3_number(code)), bfloat16.largest))
    return Result(code, [convert(E2M1, y, 7, zero="plus") for y in all_mul(block, factor)])


@rule({"torchao": {"cuda": False}, "torchao_cuda": {"cuda": True}}, "ue4m3", ["e2m1"], tensor=True)
def torchao_nvfp4(block, element, tensor_amax, cuda):
    """pytorch/ao 36027d8, torchao/prototype/mx_formats/nvfp4_tensor.py, nvfp4_quantize with a per_tensor_scale.

    The code is that of a normal number at least, 08. A tensor of zeros has 0 / 0."""
    amax = amax_kept(block)
    tensor = scalar_quotient(max(amax, tensor_amax), M_C, cuda)
    code = e4m3_code(at_most(max(div(scalar_quotient(amax, SIX, cuda), tensor), of(Fraction(1, 64))), of(448)))
    return Result(code, torch_cast(element, all_mul(block, div(div(ONE, tensor), e4m3_number(code)))), tensor)


@rule({"torchao": {"cuda": False}, "torchao_cuda": {"cuda": True}}, "ue4m3", ["e2m1"])
def torchao_nvfp4_alone(block, element, cuda):
    """pytorch/ao 36027d8, torchao/prototype/mx_formats/nvfp4_tensor.py, nvfp4_quantize with per_tensor_scale=None."""
    code = e4m3_code(at_most(max(scalar_quotient(amax_kept(block), SIX, cuda), of(Fraction(1, 64))), of(448)))
    return Result(code, torch_cast(element, all_mul(block, div(ONE, e4m3_number(code)))))


@rule({f"modelopt{name}{'_cuda' if cuda else ''}": {"static": bool(name), "c": c, "cuda": cuda}
       for name, c in (("", 448), ("_static", 448), ("_4over6", 256)) for cuda in (False, True)}, "ue4m3", ["e2m1"], tensor=True)
def modelopt_nvfp4(block, element, tensor_amax, static, c, cuda):
    """NVIDIA/Model-Optimizer a2fbac7, modelopt/torch/quantization/qtensor/nvfp4_tensor.py; utils/numeric_utils.py.

    What would be 0 is 1, so that a block of zeros has code 38, in the static rule before S; from 2^-9 on. Elements are divided
    by scale * s; _cast_fp4 has the sign of y < 0, and NaN is 6. four_over_six: 256 in the place of 448, and blocks whose amax
    the calibrator has not multiplied by 1.5. m · s is a product of tensors, hence a division by it also on CUDA."""
    amax = amax_kept(block)
    tensor_amax = max(amax, tensor_amax)
    tensor = scalar_quotient(tensor_amax, of(6 * c), cuda)
    if static:
        scale = div(mul(scalar_quotient(amax, SIX, cuda) or ONE, of(c)), scalar_quotient(tensor_amax, SIX, cuda))
    else:
        scale = div(amax, mul(tensor, SIX)) or ONE
    code = e4m3_code(at_most(max(scale, of(Fraction(1, 512))), of(448)))
    ys = all_div(block, mul(e4m3_number(code), tensor))
    return Result(code, [convert(element, y, 7, zero="plus") for y in ys], tensor)


@rule({"vllm": {"guard": "code"}, "flashinfer": {"guard": "amax"}, "trtllm": {"guard": "quotient"}}, "ue4m3", ["e2m1"], tensor=True)
def vllm_nvfp4(block, element, tensor_amax, guard):
    """vllm-project/vllm 20b4ad8, csrc/libtorch_stable/quantization/fp4/nvfp4_utils.cuh, cvt_warp_fp16_to_fp4<UE8M0_SF=false>;
    FlashInfer fb28d72, csrc/nv_internal/tensorrt_llm/kernels/quantization_utils.cuh, cvt_warp_fp16_to_fp4;
    TensorRT-LLM 0193dbd, cpp/tensorrt_llm/kernels/quantization.cuh, cvt_warp_fp16_to_fp4.

    The factor is 0 where the code is (vLLM), or amax (FlashInfer), or the quotient (TensorRT-LLM): 1 / 0 for a code 0 else,
    and 0 * Inf is NaN, hence 6. S is an input of the kernel: 2688 / amax of the tensor, a division. FlashInfer is built with
    -use_fast_math, so that each operation flushes."""
    amax = amax_skipped(block)
    tensor_factor = div(M_C, max(amax, tensor_amax))
    times = mul
    if guard == "amax":
        amax, times = flush(amax), mul_ftz
    quotient = times(tensor_factor, times(amax, rcp_ftz(SIX)))
    code = e4m3_code(quotient)
    zero = {"code": code, "amax": amax, "quotient": quotient}[guard] == 0
    factor = 0 if zero else rcp_ftz(times(e4m3_number(code), rcp_ftz(tensor_factor)))
    return Result(code, cvt(element, [times(x, factor) for x in block]))


@rule(["flashinfer_exact"], "ue4m3", ["e2m1"], tensor=True)
def flashinfer_exact(block, element, tensor_amax):
    """FlashInfer fb28d72, csrc/nv_internal/tensorrt_llm/kernels/quantization_utils.cuh, cvt_warp_fp16_to_fp4 with
    DISABLE_FP4_QUANT_FAST_MATH, whose build flushes all the same.

    As TransformerEngine's, but S is an input of the kernel, and nothing holds it or the quotient. amax = 0: all is 0."""
    amax = flush(amax_skipped(block))
    tensor_factor = div(M_C, max(amax_skipped(block), tensor_amax))
    code = e4m3_code(mul_ftz(amax, mul_ftz(tensor_factor, SIXTH))) if amax else 0
    factor = min(rcp_ftz(mul_ftz(e4m3_number(code), rcp_ftz(tensor_factor))), LARGEST) if amax else 0
    return Result(code, cvt(element, [mul_ftz(x, factor) for x in block]))


@rule({"mslk": {"divides": True}, "mslk_fast": {"divides": False}}, "ue4m3", ["e2m1"], tensor=True)
def mslk_nvfp4(block, element, tensor_amax, divides):
    """meta-pytorch/MSLK 2a3c897, mslk/quantize/triton/quantize_kernels/nvfp4.py, quantize_nvfp4_kernel with a global_scale, with
    and without use_precise_math.

    (amax / 6) * S, held by tl.clamp, which makes a NaN the smaller limit, within [2^-9, 448]; x * (S / scale)."""
    amax = amax_skipped(block)
    tensor_factor = div(M_C, max(amax, tensor_amax))
    quotient = mul(div(amax, SIX) if divides else mul(amax, SIXTH), tensor_factor)
    code = 1 if is_nan(quotient) else e4m3_code(min(max(quotient, of(Fraction(1, 512))), of(448)))
    return Result(code, cvt(element, all_mul(block, div(tensor_factor, e4m3_number(code)))))


@rule(["triton_kernels"], "ue4m3", ["e2m1"])
def triton_kernels_nvfp4(block, element):
    """triton-lang/triton 018a674, python/triton_kernels/triton_kernels/numerics_details/mxfp_details/_downcast_to_mxfp.py,
    _compute_quant_and_scale with scales of float8e4nv: amax / 6; all is multiplied by 0 where the scale is 0."""
    code = e4m3_code(div(amax_skipped(block), SIX))
    factor = div(ONE, e4m3_number(code)) if code else 0
    return Result(code, [convert(element, y, (7, 15)) for y in all_mul(block, factor)])


@rule(["compressed_tensors"], "ue4m3", ["e2m1"], tensor=True, by_dtype=True)
def compressed_tensors_nvfp4(block, element, tensor_amax, dtype):
    """vllm-project/compressed-tensors 0.20.1, quantization/utils/helpers.py, generate_gparam, calculate_qparams.

    S = (1 / max(amax, the least normal number)) * 2688 and amax / 6 in the dtype of the input, and their product in binary32, as
    that of two tensors with dimensions. S is 1 where it is infinite or NaN; byte 0 becomes that of 0.125; x / (scale / S). S is
    stored. y < 0 has the sign."""
    factor = held(dtype, mul(held(dtype, div(ONE, max(tensor_amax, dtype.least_normal))), of(2688)))
    factor = ONE if factor >= INF else factor
    code = e4m3_code(mul(factor, held(dtype, scalar_quotient(amax_kept(block), element.max, False)))) or 0x20
    ys = all_div(block, div(e4m3_number(code), factor))
    return Result(code, [convert(E2M1, y, 7, zero="plus") for y in ys])
