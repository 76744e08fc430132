# SPDX-License-Identifier: Apache-2.0
#
"""The rules of block_rules.py once more, for arrays of finite blocks: NumPy's binary32, which is that of the machine, and the
casts of ml_dtypes. It shares no code with block_rules.py, which says where each step comes from, nor with emulate/.

    quantized(name, scale, tensor, element, blocks, tensor_amax, dtype) -> (codes of scales, codes of elements)

blocks: float32 of shape (n, size). A code of -1 is of a NaN that torchao's cast makes a number, which block_rules.py tells. log2 is
computed in binary64 and rounded, which is the correctly rounded one for all but numbers that lie within 2^-28 ulps of a tie.
"""
import ml_dtypes
import numpy as np

F = np.float32
TYPES = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
         "e5m2fnuz": ml_dtypes.float8_e5m2fnuz, "e3m2": ml_dtypes.float6_e3m2fn, "e2m3": ml_dtypes.float6_e2m3fn,
         "e2m1": ml_dtypes.float4_e2m1fn}
DTYPES = {"binary32": F, "bfloat16": ml_dtypes.bfloat16, "binary16": np.float16}
LARGEST, TINY, INF = np.finfo(F).max, np.finfo(F).tiny, F(np.inf)


def largest(element):
    return F(127 / 64) if element == "int8" else F(ml_dtypes.finfo(TYPES[element]).max)


def fraction_bits(element):
    return {"e4m3": 3, "e4m3fnuz": 3, "e5m2": 2, "e5m2fnuz": 2, "e3m2": 2, "e2m3": 3, "e2m1": 1}[element]


def bits(x):
    return x.view(np.uint32).astype(np.int64)


def power(e):
    """2^e, also where it is subnormal."""
    return np.ldexp(F(1), e).astype(F)


def up(q):
    """cvt.rp.ue8m0: the exponent, up."""
    b = bits(q)
    return np.where(b >= 0x00800000, b + 0x7FFFFF >> 23, b > 0x400000)


def field_up(q):
    return np.minimum(bits(q) + 0x7FFFFF >> 23, 255)


def log2_of(x):
    return np.log2(x.astype(np.float64)).astype(F)


def e4m3_code(x):
    """Of numbers that are not negative; a NaN is 7F, whatever its sign."""
    return np.minimum(x, F(448)).astype(ml_dtypes.float8_e4m3fn).view(np.uint8).astype(np.int64) & 0x7F


def e4m3_number(code):
    return code.astype(np.uint8).view(ml_dtypes.float8_e4m3fn).astype(F)


def flushed(x):
    return np.where(np.abs(x) < TINY, np.copysign(F(0), x), x)


FLUSHING = ("aiter_up", "aiter_down", "aiter_ceil", "aiter_even", "aiter_token", "flashinfer", "flashinfer_exact")


def multiplied_flushed(a, b):
    """A product whose operands and result are 0 where they are subnormal."""
    return flushed(flushed(a) * flushed(b))


def rcp(x):
    return flushed(F(1) / flushed(x))


def held(dtype, x):
    return x.astype(DTYPES[dtype]).astype(F)


def elements(element, y, down=False, zero="kept", nan=7):
    if element == "int8":
        return np.clip(np.rint(y.astype(np.float64) * 64), -127, 127).astype(np.int64) & 0xFF
    if down:
        middles = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5], F)
        codes = np.searchsorted(middles, np.abs(y)) | np.signbit(y) << 3
    else:
        m = largest(element)
        codes = np.clip(y, -m, m).astype(TYPES[element]).view(np.uint8).astype(np.int64)
        nans = {"e4m3": 0x7F, "e5m2": 0x7F, "e4m3fnuz": 0x80, "e5m2fnuz": 0x80}
        codes = np.where(np.isnan(y), nan if nan > 7 else nans.get(element, nan), codes)
    if zero == "plus":
        codes = np.where(y == 0, 0, codes)
    elif zero == "minus":
        codes = np.where(y == 0, 8, codes)
    elif zero == "never":
        codes = np.where(codes == 8, 0, codes)
    return codes


# ---- scales of E8M0: (code, factor, how elements are rounded)

def e8m0(name, a, element):
    m = largest(element)
    times = multiplied_flushed if name in FLUSHING else np.multiply
    quotient = times(a, F(1) / m) if name.endswith("_cuda") or name.split("_")[0] in ("te", "aiter", "flashinfer", "trtllm") \
        or name == "torchao_rceil" else a / m
    e = 0 if element == "int8" else int(np.floor(np.log2(m)))
    how, base = {}, name.removesuffix("_cuda")
    if base in ("ocp", "torchao_floor", "torchao_ceil", "torchao_even", "torchao018_floor", "torchao018_ceil",
                "torchao018_even"):
        b = bits(a)
        if base.endswith("even"):
            b = b + (1 << 22 - fraction_bits(element)) & 0x7F800000
        field = (b + 0x7FFFFF >> 23) if base.endswith("ceil") else b >> 23
        if base == "ocp":
            field = np.where(a > 0, np.frexp(a)[1] + 126, 0)
        code = np.where((b >= 0x7F800000) & (base.startswith("torchao_")), 255, np.maximum(field - e, 0))
        factor = power(127 - code)
        if "018" in base:
            factor = F(1) / power(np.maximum(code, 1) - 127)
        factor = np.where(code == 255, F(np.nan), factor)
        how = {"nan": -1}
    elif base == "torchao_rceil":
        code = up(quotient)
        factor = power(127 - code)
    elif base == "torchao018_rceil":
        code = np.where(quotient > 0, np.clip(np.ceil(log2_of(quotient)) + 127, 0, 254), 0).astype(np.int64)
        factor = np.where(code == 0, F(1), power(127 - code))
    elif base == "te":
        code = up(quotient)
        factor = power(127 - code)
    elif base == "aiter_triton":
        field = bits(a) + 0x200000 >> 23
        code = np.where(field == 255, 254, np.maximum(field - e, 0))
        factor = power(127 - code)
    elif base.startswith("triton_kernels"):
        code = bits(a / F(2) ** e) >> 23 if base.endswith("down") else field_up(a / m)
        factor = np.where((code == 0) | (code == 255), F(0), power(127 - code))
    elif base.startswith("aiter"):
        if base in ("aiter", "aiter_rope"):
            floor = F(1e-8 if base == "aiter_rope" else 1e-10)
            code = field_up(np.maximum(a, floor) * (F(1) / m))
        elif base == "aiter_even":
            code = np.minimum(np.maximum((bits(a) + 0x200000 >> 23) - 2, 0), 254)
            code = np.where(bits(a) + 0x200000 >> 23 == 255, 254, code)
        else:
            q = quotient if base == "aiter_up" else times(a, F(0.25))
            code = bits(q) >> 23 if base == "aiter_down" else field_up(q)
        factor = np.where(code == 0, F(0), flushed(power(127 - code)))
        if base not in ("aiter", "aiter_rope"):
            how = {"zero": "plus"}
    elif base == "deepgemm":
        code = np.clip(field_up(np.maximum(a, F(1e-4)) / m), 1, 254)
        factor = power(127 - code)
        how = {"down": True, "zero": "never"} if element == "e2m1" else {}
    elif base == "modelopt":
        code = np.where(quotient > 0, np.clip(np.ceil(log2_of(quotient)) + 127, 0, 254), 0).astype(np.int64)
        factor = power(127 - code)
        how = {"down": True, "zero": "minus"} if element == "e2m1" else {}
    elif base in ("vllm", "vllm_log2") and element == "e4m3":
        q = np.maximum(np.maximum(a, F(1e-10)) / m, F(1e-10))
        code = (np.ceil(log2_of(q)) + 127).astype(np.int64) if base == "vllm_log2" else field_up(q)
        factor = power(127 - code)
    elif base == "vllm":
        code = np.maximum((bits(a) + (1 << 21) >> 23) - 2, 0)
        factor = np.where(code > 0, power(127 - code), F(0))
    elif base == "compressed_tensors":
        field = bits(a) + (1 << 22 - (1 if element == "e4m3" else fraction_bits(element))) >> 23
        code = np.where(field == 255, 255, np.maximum(field - e, 0))
        factor = np.where(code == 255, F(0), power(127 - code))
        how = {"zero": "plus"} if element == "e2m1" else {}
    elif base in ("flashinfer", "trtllm"):
        code = up(quotient)
        factor = np.where(quotient > 0, rcp(power(code - 127)), F(0))
    return code, factor, how


# ---- scales of binary32

def binary32(name, a, element, dtype):
    m, base = largest(element), name.removesuffix("_cuda")
    share = (lambda x: x * (F(1) / m)) if name.endswith("_cuda") else (lambda x: x / m)
    if base.startswith("te"):
        factor = m / a
        most = LARGEST if base == "te_current" else F(ml_dtypes.finfo(DTYPES[dtype]).max)
        factor = np.where(a == 0, F(1), np.where(np.isinf(factor), most, factor))
        if base == "te_pow2":
            factor = (factor.view(np.uint32) & 0x7F800000).view(F)
        return F(1) / factor, factor, "times"
    if base in ("torchao", "torchao_pow2"):
        factor = (1.0 / np.maximum(a.astype(np.float64), 1e-12) * np.float64(m)).astype(F)
        if base == "torchao_pow2":
            factor = power(np.floor(log2_of(factor)).astype(np.int64))
        return F(1) / factor, factor, "times"
    if base == "torchao_inference":
        scale = held(dtype, share(a))
        return scale, scale, "over"
    if base == "aiter_token":
        scale = multiplied_flushed(a, F(1) / m)
        return scale, rcp(scale), "times"
    if base == "mslk":
        scale = np.maximum(a, F(2 ** -9)) / m
        return scale, scale, "over"
    a = np.maximum(a, F(1e-10 if base in ("vllm", "aiter") else 1e-4))
    scale = a * (F(1) / m) if base == "aiter" else share(a)
    return (scale, F(1) / scale, "times") if base in ("deepgemm", "aiter") else (scale, scale, "over")


# ---- scales of E4M3

def te_tensor_factor(at, most):
    return F(1) if at == 0 else min(F(most) / at, LARGEST)


def te_factor(code, s):
    return np.minimum(F(1) / (e4m3_number(code) * (F(1) / s)), LARGEST)


def ue4m3(name, a, at, dtype):
    base, cuda, six = name.removesuffix("_cuda"), name.endswith("_cuda"), F(6)
    share = (lambda x, n: x * (F(1) / n)) if cuda else (lambda x, n: x / n)
    if base in ("te", "te_fast"):
        s = te_tensor_factor(at, 2688)
        code = e4m3_code(np.minimum(a * (s * (F(1) / six)), LARGEST))
        if base == "te":
            return code, te_factor(code, s), "times", {}
        most = F(ml_dtypes.finfo(ml_dtypes.bfloat16).max)
        return code, held("bfloat16", np.minimum(s / e4m3_number(code), most)), "times", {"zero": "plus"}
    if base == "torchao":
        s = share(at, F(2688))
        code = e4m3_code(np.maximum(share(a, six) / s, F(2 ** -6)))
        return code, F(1) / s / e4m3_number(code), "times", {"nan": -1}
    if base.startswith("modelopt"):
        c = F(256 if base == "modelopt_4over6" else 448)
        s = share(at, six * c)
        if base == "modelopt":
            q = a / (s * six)
            q = np.where(q == 0, F(1), q)
        else:
            q = share(a, six)
            q = np.where(q == 0, F(1), q) * c / share(at, six)
        code = e4m3_code(np.maximum(q, F(2 ** -9)))
        return code, e4m3_number(code) * s, "over", {"zero": "plus"}
    if base == "compressed_tensors":
        least = F(ml_dtypes.finfo(DTYPES[dtype]).smallest_normal)
        s = held(dtype, held(dtype, F(1) / np.maximum(at, least)) * F(2688))
        s = s if np.isfinite(s) else F(1)
        code = e4m3_code(held(dtype, share(a, six)) * s)
        code = np.where(code == 0, 0x20, code)
        return code, e4m3_number(code) / s, "over", {"zero": "plus"}
    s = F(2688) / at
    if base.startswith("mslk"):
        share = a / six if base == "mslk" else a * (F(1) / six)
        code = e4m3_code(np.maximum(share * s, F(2 ** -9)))
        return code, s / e4m3_number(code), "times", {}
    times = multiplied_flushed if name in FLUSHING else np.multiply
    if base == "flashinfer_exact":
        code = np.where(flushed(a) == 0, 0, e4m3_code(times(a, times(s, F(1) / six))))
        return code, np.minimum(rcp(times(e4m3_number(code), rcp(s))), LARGEST), "times", {}
    q = times(s, times(a, F(1) / six))
    code = e4m3_code(q)
    guard = {"vllm": code, "flashinfer": flushed(a), "trtllm": q}[base]
    return code, np.where(guard == 0, F(0), rcp(times(e4m3_number(code), rcp(s)))), "times", {}


def te_4over6(name, x, a, at):
    c = 448 if "448" in name else 256
    s = te_tensor_factor(at, 6 * c)
    base = a / F(6) * s
    found = []
    for wanted in (base, base * F(1.5)):
        code = e4m3_code(wanted)
        codes = elements("e2m1", x * te_factor(code, s)[:, None])
        value = codes.astype(np.uint8).view(TYPES["e2m1"]).astype(F) * e4m3_number(code)[:, None]
        error = value - x * s if "fast" in name else value * at / F(6 * c) - x
        error = error * error if "mse" in name else np.abs(error)
        total = np.zeros(len(x), F)
        for i in range(x.shape[1]):
            total = total + error[:, i]
        found.append((total, code, codes))
    (with_6, code_6, codes_6), (with_4, code_4, codes_4) = found
    four = with_4 < with_6
    return np.where(four, code_4, code_6), np.where(four[:, None], codes_4, codes_6)


def quantized(name, scale, tensor, element, blocks, tensor_amax, dtype="binary32"):
    a, at = np.abs(blocks).max(axis=1), F(tensor_amax)
    with np.errstate(all="ignore"):
        if "4over6" in name and name.startswith("te"):
            return te_4over6(name, blocks, a, at)
        times = multiplied_flushed if name in FLUSHING else np.multiply
        if scale == "e8m0":
            code, factor, how = e8m0(name, a, element)
            y = times(blocks, factor[:, None])
        elif scale == "binary32":
            code, factor, step = binary32(name, a, element, dtype)
            how = {"down": True, "zero": "never"} if element == "e2m1" else {}
            if name == "aiter_token":  # 0 * Inf under a scale of 0
                how = {"nan": {"e4m3": 0xFE, "e4m3fnuz": 0xFF}[element]}
            y = times(blocks, factor[:, None]) if step == "times" else blocks / factor[:, None]
            code = bits(code)
        elif tensor:
            code, factor, step, how = ue4m3(name, a, at, dtype)
            y = times(blocks, factor[:, None]) if step == "times" else blocks / factor[:, None]
        elif name == "triton_kernels":
            code, how = e4m3_code(a / F(6)), {}
            y = blocks * np.where(code == 0, F(0), F(1) / e4m3_number(code))[:, None]
        else:
            share = a * (F(1) / F(6)) if name.endswith("_cuda") else a / F(6)
            code, how = e4m3_code(np.maximum(share, F(2 ** -6))), {}
            y = blocks * (F(1) / e4m3_number(code))[:, None]
        return code, elements(element, y, **how)
