# SPDX-License-Identifier: Apache-2.0
#
"""Independent oracle for products of matrices whose blocks share a scale (standard library only).

It was written from facts (PTX ISA, the sources of the stacks, words of a B200, published models) by someone who had not read
emulate/. All numbers are exact, integers and fractions; operands and results are encodings, ints. A NaN result is 7FFFFFFF.

    decode(code, format)                         the number behind a code
    block_scaled_dot(kind, ..., c, meta=None)    an element of D of mma or tcgen05.mma with .block_scale, dense or sparse
    wgmma_fp8(a, b), tcgen05_f8f6f4(a, b)        a dot of 32 products of wgmma and of tcgen05.mma, for promoted_product
    promoted_product(A, B, sa, sb, dot, ...)     an element of D where a register takes up scaled partial sums
    epilogue(acc, scales, order, out)            scales of rows, columns and tensors after the last sum
    row_major, swizzled_128x4, deepgemm_ue8m0    where a scale lies in memory

Of the sums nothing is cut but where a comment says so. Terms that are zero have no exponent; a sum that is zero, or is cut to
zero, is +0.
"""
from fractions import Fraction
from functools import lru_cache

NAN, POSITIVE_INF, NEGATIVE_INF = 0x7FFFFFFF, 0x7F800000, 0xFF800000

# ---- formats: the widths of exponent and fraction, the bias, whether there is a sign, and which codes are not numbers
#
# "ieee": the highest exponent field is Inf and NaN. "last": the code with all bits below the sign set is NaN. "none": all are
# numbers. ue4m3 is e4m3 whose sign bit is ignored; e8m0 has neither sign nor fraction, and its code 0 is 2^-127, not a zero.
FORMATS = {
    "e4m3": (4, 3, 7, True, "last"),
    "e5m2": (5, 2, 15, True, "ieee"),
    "e3m2": (3, 2, 3, True, "none"),
    "e2m3": (2, 3, 1, True, "none"),
    "e2m1": (2, 1, 1, True, "none"),
    "ue4m3": (4, 3, 7, False, "last"),
    "binary32": (8, 23, 127, True, "ieee"),
    "bfloat16": (8, 7, 127, True, "ieee"),
    "binary16": (5, 10, 15, True, "ieee"),
}


@lru_cache(maxsize=100000)
def power(exponent):
    """2^exponent, exactly."""
    return Fraction(2) ** exponent


def split(code, name):
    """(negative, exponent field, fraction) of a code. Bits above the format are ignored, as ue4m3's sign is."""
    exponent_bits, fraction_bits, _, signed, _ = FORMATS[name]
    fraction = code & (1 << fraction_bits) - 1
    field = code >> fraction_bits & (1 << exponent_bits) - 1
    negative = signed and code >> exponent_bits + fraction_bits & 1 == 1
    return negative, field, fraction


@lru_cache(maxsize=100000)
def decode(code, name):
    """The number behind a code: a Fraction, or "nan", "+inf", "-inf". A negative zero is "-0"."""
    if name == "e8m0":
        return "nan" if code & 255 == 255 else power((code & 255) - 127)
    exponent_bits, fraction_bits, bias, _, specials = FORMATS[name]
    negative, field, fraction = split(code, name)
    highest = (1 << exponent_bits) - 1
    if specials == "ieee" and field == highest:
        return "nan" if fraction else "-inf" if negative else "+inf"
    if specials == "last" and field == highest and fraction == (1 << fraction_bits) - 1:
        return "nan"
    if field == 0:
        magnitude = Fraction(fraction) * power(1 - bias - fraction_bits)
    else:
        magnitude = Fraction(fraction + (1 << fraction_bits)) * power(field - bias - fraction_bits)
    if negative:
        return -magnitude if magnitude else "-0"
    return magnitude


def number(decoded):
    """A decoded number as a Fraction, the sign of a zero dropped; None if it is not one."""
    if decoded == "-0":
        return Fraction(0)
    return decoded if isinstance(decoded, Fraction) else None


@lru_cache(maxsize=100000)
def held_exponent(code, name):
    """The exponent that a unit reads from a code: a subnormal number keeps that of the least normal one."""
    if name == "e8m0":
        return (code & 255) - 127
    return max(split(code, name)[1], 1) - FORMATS[name][2]


# ---- a block of a Tensor Core: terms with exponents are aligned, cut and added


def special(products, c):
    """The result if a term is not a number, else None. products: pairs of decoded operands."""
    infinite = set()
    for x, y in products:
        if "nan" in (x, y):
            return NAN
        if x in ("+inf", "-inf") or y in ("+inf", "-inf"):
            if number(x) == 0 or number(y) == 0:
                return NAN
            negatives = 0
            for operand in (x, y):
                if operand == "-inf" or isinstance(operand, Fraction) and operand < 0:
                    negatives += 1
            infinite.add("-inf" if negatives == 1 else "+inf")
    if c == "nan":
        return NAN
    if c in ("+inf", "-inf"):
        infinite.add(c)
    if len(infinite) == 2:
        return NAN
    if infinite:
        return POSITIVE_INF if "+inf" in infinite else NEGATIVE_INF
    return None


def toward_zero(x):
    """The integer next to a Fraction toward zero."""
    magnitude = abs(x.numerator) // x.denominator
    return -magnitude if x < 0 else magnitude


def aligned_sum(terms, floor, kept):
    """The sum, exactly, of terms cut toward zero to `kept` fraction bits below the highest exponent, which is `floor` at least.

    terms: pairs (number, exponent). A number may have more bits above its exponent than one, and may be zero yet count."""
    highest = floor
    for _, exponent in terms:
        if exponent > highest:
            highest = exponent
    unit = power(highest - kept)
    total = 0
    for value, _ in terms:
        total += toward_zero(value / unit)
    return total * unit


def least_exponent(magnitude, least):
    """floor(log2(magnitude)), or `least` where that is less, or magnitude is zero."""
    exponent = max(least, magnitude.numerator.bit_length() - magnitude.denominator.bit_length() - 1)
    while magnitude >= power(exponent + 1):
        exponent += 1
    return exponent


def round_toward_zero(x, fraction_bits=23):
    """The binary32 word of a Fraction cut to so many fraction bits; what reaches 2^128 is infinite, what is cut to zero +0."""
    magnitude = abs(x)
    if magnitude >= power(128):
        return NEGATIVE_INF if x < 0 else POSITIVE_INF
    exponent = least_exponent(magnitude, -126)
    units = toward_zero(magnitude / power(exponent - fraction_bits)) << 23 - fraction_bits
    if units == 0:
        return 0
    word = units if units < 1 << 23 else (exponent + 127 << 23) + units - (1 << 23)
    return word | (1 << 31 if x < 0 else 0)


def plain_terms(a, b, a_type, b_type):
    """Terms of the products of elements, without scales; an exponent is the sum of those held."""
    terms = []
    for x, y in zip(a, b):
        value = number(decode(x, a_type)) * number(decode(y, b_type))
        if value:
            terms.append((value, held_exponent(x, a_type) + held_exponent(y, b_type)))
    return terms


def with_c(terms, c):
    value = number(decode(c, "binary32"))
    return terms + [(value, held_exponent(c, "binary32"))] if value else terms


def unscaled_dot(a, b, a_type, b_type, c, kept, fraction_bits):
    assert len(a) == len(b) == 32
    pairs = [(decode(x, a_type), decode(y, b_type)) for x, y in zip(a, b)]
    found = special(pairs, decode(c, "binary32"))
    if found is not None:
        return found
    return round_toward_zero(aligned_sum(with_c(plain_terms(a, b, a_type, b_type), c), -133, kept), fraction_bits)


def wgmma_fp8(a_type, b_type):
    """A dot of wgmma.mma_async k32 of FP8 with a binary32 accumulator: c and 32 products in one block, 13 fraction bits, cut to
    13 fraction bits."""
    return lambda a, b, c: unscaled_dot(a, b, a_type, b_type, c, 13, 13)


def tcgen05_f8f6f4(a_type, b_type):
    """A dot of tcgen05.mma .kind::f8f6f4 k32 with a binary32 accumulator: 25 fraction bits, cut to binary32. It is that of
    mma.sync .kind::f8f6f4 of sm_120, too."""
    return lambda a, b, c: unscaled_dot(a, b, a_type, b_type, c, 25, 23)


# ---- block scales

EIGHT_BIT_TYPES = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")

# kind, scale type and scale_vec -> the dense K. mma has the last row from PTX 9.1 on.
BLOCK_SCALED = {
    ("mxf8f6f4", "ue8m0", 1): 32,
    ("mxf4", "ue8m0", 2): 64,
    ("mxf4nvf4", "ue8m0", 2): 64,
    ("mxf4nvf4", "ue4m3", 4): 64,
    ("mxf4nvf4", "ue8m0", 4): 64,
}


def metadata(nibble):
    """The two positions in a four-wide chunk that a nibble of the metadata names, the low bits first. Only the six nibbles with
    ascending positions are meaningful (PTX ISA, sparse matrix storage)."""
    first, second = nibble & 3, nibble >> 2 & 3
    assert first < second
    return first, second


def kept_positions(meta, width):
    """For each kept element its place in the uncompressed row. meta: two ascending positions for each chunk of four sub-chunks,
    which are `width` elements wide: 1 (2:4) or 2 (pairs of 4:8)."""
    places = []
    for chunk, positions in enumerate(meta):
        assert len(positions) == 2 and 0 <= positions[0] < positions[1] < 4
        for position in positions:
            for i in range(width):
                places.append((4 * chunk + position) * width + i)
    return places


def block_scaled_dot(kind, a_type, b_type, scale_type, scale_vec, a, b, sa, sb, c, meta=None):
    """One element of D of mma.sync or tcgen05.mma with .block_scale, a binary32 word.

    Dense, a and b have K codes, 32 (mxf8f6f4) or 64. Sparse, meta is given, K is twice that, b has K codes, and a the K/2
    that are kept. sa and sb have scale_vec codes each; K / scale_vec elements of the uncompressed row share one.

    PTX says nothing of: the groups of 16 in sparse (here 16 that are kept, which share their scales, one after the other); a
    NaN at a place of b that is dropped (here it is absent)."""
    dense_k = BLOCK_SCALED[kind, scale_type, scale_vec]
    k = dense_k if meta is None else 2 * dense_k
    if kind == "mxf8f6f4":
        assert a_type in EIGHT_BIT_TYPES and b_type in EIGHT_BIT_TYPES
    else:
        assert a_type == b_type == "e2m1"
    places = range(k) if meta is None else kept_positions(meta, 1 if kind == "mxf8f6f4" else 2)
    assert len(a) == len(places) == dense_k and len(b) == k and len(sa) == len(sb) == scale_vec
    scale = "e8m0" if scale_type == "ue8m0" else scale_type
    for code in list(sa) + list(sb):
        if decode(code, scale) == "nan":
            return NAN
    pairs = []
    for i, place in enumerate(places):
        pairs.append((decode(a[i], a_type), decode(b[place], b_type)))
    found = special(pairs, decode(c, "binary32"))
    if found is not None:
        return found
    terms = []
    if kind == "mxf8f6f4":
        # Each product has the exponents of both elements and of both scales.
        for i, place in enumerate(places):
            block = place // (k // scale_vec)
            value = number(pairs[i][0]) * number(pairs[i][1]) * decode(sa[block], scale) * decode(sb[block], scale)
            if value:
                exponent = held_exponent(a[i], a_type) + held_exponent(b[place], b_type)
                exponent += held_exponent(sa[block], scale) + held_exponent(sb[block], scale)
                terms.append((value, exponent))
        return round_toward_zero(aligned_sum(with_c(terms, c), -133, 25))
    # The exact sum of 16 products, times the significands of their scales, is one term; its exponent is that of the scales
    # alone. It counts unless all its products are zero or a scale is, also where the products cancel.
    for group in range(4):
        blocks = set()
        total, counts = Fraction(0), False
        for i in range(16 * group, 16 * group + 16):
            product = number(pairs[i][0]) * number(pairs[i][1])
            total += product
            counts = counts or product != 0
            blocks.add(places[i] // (k // scale_vec))
        (block,) = blocks
        alpha, beta = decode(sa[block], scale), decode(sb[block], scale)
        if counts and alpha and beta:
            terms.append((total * alpha * beta, held_exponent(sa[block], scale) + held_exponent(sb[block], scale)))
    return round_toward_zero(aligned_sum(with_c(terms, c), -139, 35))


# ---- binary32 arithmetic, each operation rounded once, to nearest even


def to_nearest(x, name="binary32", negative_zero=False):
    """The code of a Fraction in a format with infinities, to nearest even. A zero has the sign of x, or else the given one."""
    exponent_bits, fraction_bits, bias, _, _ = FORMATS[name]
    sign = 1 << exponent_bits + fraction_bits if x < 0 or x == 0 and negative_zero else 0
    magnitude = abs(x)
    exponent = least_exponent(magnitude, 1 - bias)
    scaled = magnitude / power(exponent - fraction_bits)
    units = scaled.numerator // scaled.denominator
    rest = scaled - units
    if rest > Fraction(1, 2) or rest == Fraction(1, 2) and units % 2:
        units += 1
    if units * power(exponent - fraction_bits) >= power(bias + 1):
        return sign | (1 << exponent_bits) - 1 << fraction_bits
    hidden = 1 << fraction_bits
    if units >= 2 * hidden:
        units, exponent = units // 2, exponent + 1
    return sign | (units if units < hidden else (exponent + bias << fraction_bits) + units - hidden)


def is_negative(word):
    return word >> 31 == 1


def fma(x, y, z):
    """x * y + z of binary32 words, rounded once. It is mul and add, too."""
    first, second, third = (decode(word, "binary32") for word in (x, y, z))
    negative = is_negative(x) != is_negative(y)
    infinite = {"+inf", "-inf"}
    if "nan" in (first, second, third):
        return NAN
    if first in infinite or second in infinite:
        if number(first) == 0 or number(second) == 0:
            return NAN
        if third in infinite and is_negative(z) != negative:
            return NAN
        return NEGATIVE_INF if negative else POSITIVE_INF
    if third in infinite:
        return z
    product = number(first) * number(second)
    total = product + number(third)
    # Of two zeros the sum is negative if both are; an exact cancellation is +0.
    return to_nearest(total, negative_zero=product == 0 and number(third) == 0 and negative and is_negative(z))


def mul(x, y):
    """A product has its own sign also where it is zero: that of adding a zero of that sign."""
    return fma(x, y, (x ^ y) & 1 << 31)


def add(x, y):
    return fma(x, 0x3F800000, y)


# ---- promotion: partial sums that a register takes up

PROMOTIONS = ("fma_together", "mul_add_together", "fma_a_first", "fma_b_first", "mul_add_a_first", "mul_add_b_first")


def promote(register, acc, sa, sb, how):
    """register + sa * sb * acc, all binary32 words, in one of the orders that PROMOTIONS names.

    fma_together: DeepGEMM 54e2261, deep_gemm/include/deep_gemm/impls/sm90_fp8_gemm_1d2d.cuh and sm90_fp8_gemm_1d1d.cuh; CUTLASS
    7107b05, collective/sm100_mma_warpspecialized_blockwise_scaling.hpp, and that of sm_90 where one side has one scale in a
    tile. fma_a_first: the same, collective/fp8_accumulation.hpp, where both have several; DeepSeek-V3 9b4e978,
    inference/kernel.py; the Triton kernels of vLLM and SGLang; cuBLAS with 1x128 by 1x128 and 1x128 by 128x128, as
    TransformerEngine d0067d0 says, tests/pytorch/references/blockwise_fp8_gemm_reference.py. fma_b_first: there for 128x128
    by 1x128. The others are these without contraction."""
    if how in ("fma_together", "mul_add_together"):
        scale = mul(sa, sb)
        if how == "fma_together":
            return fma(scale, acc, register)
        return add(register, mul(scale, acc))
    first, second = (sa, sb) if how.endswith("a_first") else (sb, sa)
    once = mul(acc, first)
    if how in ("fma_a_first", "fma_b_first"):
        return fma(once, second, register)
    assert how in ("mul_add_a_first", "mul_add_b_first")
    return add(register, mul(once, second))


def promoted_product(A, B, sa, sb, dot, interval, block_k, how):
    """One element of D, a binary32 word, over K = len(A) products of FP8 codes.

    Every `interval` products of K a sum starts at +0 in the Tensor Core: dot(a, b, c) -> d of 32 products, c being the last
    d. Then the register, +0 at first, takes it up; sa and sb have a binary32 word for every block_k of K. What is left of K
    at the end is a shorter sum, its last dot filled up with codes 0, as TMA does. (Dots of zeros alone that would follow
    change nothing.)"""
    assert len(A) == len(B) and interval % 32 == 0 and block_k % interval == 0
    k = len(A)
    register = 0
    for start in range(0, k, interval):
        acc = 0
        for low in range(start, min(start + interval, k), 32):
            a, b = [], []
            for i in range(low, low + 32):
                a.append(A[i] if i < k else 0)
                b.append(B[i] if i < k else 0)
            acc = dot(a, b, acc)
        block = start // block_k
        register = promote(register, acc, sa[block], sb[block], how)
    return register


def epilogue(acc, scales, order, out="binary32"):
    """The last word of an element scaled by its row, its column and its tensors, and rounded to the format of D.

    scales: binary32 words, in the order in which they are used. order: "one_by_one", acc times each, rounded each time, as
    CUTLASS's epilogues of vLLM do, column (b) first and row (a) last; "together", the product of the scales first, left to
    right, then times acc. The result is a code of out: binary32, bfloat16 or binary16; its NaN has all bits below the sign
    set."""
    if order == "one_by_one":
        for scale in scales:
            acc = mul(acc, scale)
    else:
        assert order == "together"
        product = scales[0]
        for scale in scales[1:]:
            product = mul(product, scale)
        acc = mul(acc, product)
    return from_binary32(acc, out)


def from_binary32(word, out):
    """A binary32 word rounded to a format, to nearest even."""
    exponent_bits, fraction_bits, _, _, _ = FORMATS[out]
    decoded = decode(word, "binary32")
    sign = (word >> 31) << exponent_bits + fraction_bits
    if decoded == "nan":
        return (1 << exponent_bits + fraction_bits) - 1
    if decoded in ("+inf", "-inf"):
        return sign | (1 << exponent_bits) - 1 << fraction_bits
    return to_nearest(number(decoded), out, is_negative(word))


# ---- where the scale of a row and a block of K lies


def row_major(row, block, rows, blocks):
    """The index of a scale where those of a row follow one another."""
    index = 0
    for i in range(rows):
        for j in range(blocks):
            if (i, j) == (row, block):
                return index
            index += 1
    raise IndexError


def swizzled_128x4_order(rows, blocks):
    """For each byte of the layout of cuBLAS and CUTLASS the (row, block) whose scale it is; None where it fills up.

    Tiles of 128 rows by 4 blocks, those along K one after the other; in a tile, 32 rows of 16 bytes, in each of which four rows
    32 apart have their four blocks (CUTLASS 7107b05, cutlass/detail/sm100_blockscaled_layout.hpp)."""
    order = []
    for tile_row in range(0, rows, 128):
        for tile_block in range(0, blocks, 4):
            for low in range(32):
                for high in range(4):
                    for block in range(4):
                        place = (tile_row + 32 * high + low, tile_block + block)
                        order.append(place if place[0] < rows and place[1] < blocks else None)
    return order


def swizzled_128x4(row, block, rows, blocks):
    """The index of a scale in the layout of swizzled_128x4_order."""
    return swizzled_128x4_order(rows, blocks).index((row, block))


def deepgemm_ue8m0_order(rows, blocks):
    """For each byte of DeepGEMM's packed layout the (row, block) whose scale it is; None where it fills up.

    Four blocks of K to an int, the lowest in the low byte, so first in memory; ints of successive rows follow one another,
    their number padded to four, 16 bytes; then come the next four blocks (DeepGEMM 54e2261, impls/smxx_layout.cuh)."""
    order = []
    padded = rows
    while padded % 4:
        padded += 1
    for four in range(0, blocks, 4):
        for row in range(padded):
            for block in range(four, four + 4):
                order.append((row, block) if row < rows and block < blocks else None)
    return order


def deepgemm_ue8m0(row, block, rows, blocks):
    """(index of the int, number of the byte in it) of a scale in the layout of deepgemm_ue8m0_order."""
    return divmod(deepgemm_ue8m0_order(rows, blocks).index((row, block)), 4)
