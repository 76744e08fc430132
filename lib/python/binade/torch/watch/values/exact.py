# SPDX-License-Identifier: Apache-2.0
"""What no format helps: Inf and NaN that ops give by their mathematics, of zeros, numbers outside of their domain and empty tensors."""
import dataclasses
import math

import torch

from .fused import divided_by_zero

LOGARITHMS = frozenset("log log2 log10 log1p logit xlogy special_xlog1py special_entr".split())
QUOTIENTS = frozenset("div remainder fmod floor_divide".split())
DIVISIONS = QUOTIENTS | {"reciprocal", "rsqrt"}
ARCS = frozenset("acos asin atanh erfinv".split())
GAMMAS = frozenset("lgamma digamma polygamma".split())
PAIRS = frozenset("atan2 hypot".split())  # whose slope at two zeros is 0/0
EXPONENTIALS = frozenset("exp exp2 expm1 sinh cosh".split())
FACTORS = frozenset("xlogy special_xlog1py".split())  # a logarithm times what the op got first
FEW = {"mean": 1, "std": 2, "var": 2, "std_mean": 2, "var_mean": 2}  # the least number of elements that they take
SINGULAR = LOGARITHMS | DIVISIONS | ARCS | GAMMAS | PAIRS | {"acosh", "special_ndtri", "sqrt", "pow"}
SECOND = QUOTIENTS | FACTORS | {"polygamma"}  # which are singular in their second argument
NARROW = {torch.float16: "float16", torch.bfloat16: "bfloat16"}
# Where an op or its slope is infinite, but for those that are so at 0, and between which numbers it has a result.
POLES = {**dict.fromkeys(ARCS, (-1, 1)), "acosh": (1,), "log1p": (-1,), "special_xlog1py": (-1,), "logit": (0, 1), "special_ndtri": (0, 1)}
DOMAINS = {
    **dict.fromkeys(LOGARITHMS | {"sqrt", "rsqrt", "pow"}, (0, math.inf)), **dict.fromkeys(ARCS, (-1, 1)), "acosh": (1, math.inf),
    **dict.fromkeys(("log1p", "special_xlog1py"), (-1, math.inf)), **dict.fromkeys(("logit", "special_ndtri"), (0, 1))}
CURES = {
    **dict.fromkeys(LOGARITHMS, "add an eps inside of the logarithm or bound its operand, or take an op that computes both in one "
                    "(log_softmax, logsumexp, logsigmoid, binary_cross_entropy_with_logits)"),
    **dict.fromkeys(DIVISIONS, "add an eps to the divisor or bound it below"),
    **dict.fromkeys(ARCS, "bound its operand within -1 and 1, and off these where it has a gradient"),
    **dict.fromkeys(GAMMAS, "add an eps to its operand or bound it above 0"),
    **dict.fromkeys(PAIRS, "add an eps to one of its operands"),
    "acosh": "bound its operand below by 1, and off it where it has a gradient", "special_ndtri": "bound its operand within 0 and 1",
    "rsqrt": "add an eps inside of the root", "sqrt": "add an eps inside of the root or bound its operand below",
    "pow": "add an eps to the base or bound it below",
}
WIDE = (torch.float32, torch.float64)
# What helps, by (kind of an Origin, dtype), where FP32 has no more range than what overflowed; of exponentials, and of products.
WIDER = {
    **{("overflow", dtype): "clip or scale its operands, or compute it in FP64"
       for dtype in (torch.bfloat16, *WIDE)},
    **{("NaN", dtype): "bound its operands to where it has a result, or compute it in FP64" for dtype in WIDE}}
OF_PRODUCTS = frozenset("mm addmm bmm baddbmm addbmm addmv mv dot linear matmul convolution".split())
OF_EXPONENTIALS = ("take what computes it without an overflow where it is part of one (softmax or logsumexp, which subtract the maximum, softplus, "
                   "sigmoid, tanh), else bound what it is the exponential of (clamp)")
SMALLER = ("scale what it multiplies down, as by smaller weights or a norm before it, or compute it in FP64; where it is applied again and again, "
           "as in a recurrence, begin with weights that do not enlarge what they multiply (orthogonal ones, or a gate as of an LSTM)")
OF_POSITIVE = frozenset("sqrt rsqrt log log2 log10 pow".split())
POSITIVE = "make its operand positive before (softplus, exp, or a bound below), since an eps does not"
PARAMETRIZATIONS = "torch.nn.utils.parametrizations"
VECTOR = "begin with a weight that is not zero: spectral and weight norm divide by its norm"
ONLY_WHERE = "FP32 helps only where"
MASKED = "leave a place open in every row, or put a number in the place of what such rows give"
CONSTANT = "take a large finite number in its place, or put a number in the place of the result (torch.where)"
BEFORE = "; a mask or where after it does not help, since 0·Inf is NaN: replace these values before it"


def wider(kind, dtype, op):
    """Returns what helps where FP32 has no more range than what an op overflowed in; "" where it has."""
    cure = WIDER.get((kind, dtype), "")
    if not cure or kind != "overflow":
        return cure
    return SMALLER if op in OF_PRODUCTS else OF_EXPONENTIALS if op in EXPONENTIALS else cure


@dataclasses.dataclass(frozen=True)
class Exact:
    """why: which operand it is, and of how many elements. cure: what to do instead of taking another format. may: whether rounding to a
    narrow dtype may have made what it is singular at, so that another format may help."""

    why: str
    cure: str
    may: bool = False


DETERMINANTS = frozenset("linalg_slogdet slogdet logdet".split())
SINGULAR_MATRIX = Exact("a matrix is singular, so that the logarithm of its determinant is -Inf", "begin with a matrix that can be inverted "
                        "(orthogonal), and keep it so (factors with a diagonal that is bounded off 0)")
CTC = frozenset(("ctc_loss", "cudnn_ctc_loss"))
SKIP = "skip or mend such batches"
GIVEN = Exact("Inf was in what the layer got", "look at the data")


def whole(x):
    """Returns where numbers are whole; torch 1.13 rounds none of float16 on the CPU."""
    x = x.float() if x.dtype in NARROW else x
    return x == x.floor()


def base_of(base, exponent, of_slope):
    """Returns the base of a power, with 1 wherever it has a result, or a slope, at every number with its exponent: a whole power of a
    negative number is one."""
    exponent = exponent if isinstance(exponent, torch.Tensor) else torch.tensor(float(exponent))
    at_zero = (exponent < of_slope) & (exponent != 0)
    return torch.where((base == 0) & at_zero | (base < 0) & ~whole(exponent), base, torch.ones_like(base))


def operand_at(name, args):
    """Returns the argument of an op that it is singular in; None if it has none."""
    at = int(name in SECOND)
    return args[at] if name in SINGULAR and len(args) > at else None


def at_zeros(name, args, out, rewritten):
    """Whether an operand holds nothing but zeros of what an op is singular at."""
    if 0 not in POLES.get(name, (0,)) or rewritten and name not in SECOND:
        return name not in POLES and not bool(out.isnan().any())
    x = operand_of(name, args, True)
    return x is not None and not bool(((poles(name, x) | outside(name, x)) & (x != 0)).any())


def operand_of(name, args, of_slope=False):
    """Returns what an op, or its slope, is singular in: a divisor, or its first argument, of two the larger; None if it has none."""
    if name in PAIRS:
        return torch.maximum(args[0].abs(), args[1].abs())
    x = args[name in SECOND] if len(args) > (name in SECOND) else None
    x = torch.tensor(float(x)) if isinstance(x, int | float) else x
    if not isinstance(x, torch.Tensor) or x.is_complex():
        return None
    if name == "pow":
        return base_of(x, args[1], of_slope)
    if name in FACTORS and not of_slope:
        return torch.where(torch.as_tensor(args[0] == 0, device=x.device), torch.ones_like(x), x)
    return x


def poles(name, x):
    """Returns where an operand has a value at which the op, or its slope, is infinite."""
    if name in GAMMAS:
        return (x <= 0) & whole(x)
    at = torch.zeros_like(x, dtype=torch.bool)
    for pole in POLES.get(name, (0,)):
        at |= x == pole
    return at


def outside(name, x):
    """Returns where an operand has a value for which the op has no result."""
    least, largest = DOMAINS.get(name, (-math.inf, math.inf))
    return (x < least) | (x > largest)


def many(n, what):
    return f"{n:,} {what}{'s' * (n != 1)}"


def held_text(name, x):
    """Returns what an operand holds that the op is singular at, as text; "" if nothing."""
    at, out = int(poles(name, x).sum()), int(outside(name, x).sum())
    pole = "±1" if name in ARCS else " or ".join(map(str, POLES.get(name, (0,))))
    pole = "0 or a negative whole number" if name in GAMMAS else pole
    words = [many(at, "zero") if pole == "0" else f"{many(at, 'value')} of {pole}"] if at else []
    words += [f"{many(out, 'value')} outside of its domain"] if out else []
    what = "pair of operands" if name in PAIRS else "divisor" if name in DIVISIONS and name != "rsqrt" else "base" if name == "pow" else "operand"
    return f"its {what} holds {' and '.join(words)}" if words else ""


def cure_of(name, dtype, is_negative=False):
    """Returns what to do about an op that is singular. dtype: that in which its operand was rounded. is_negative: whether all that is
    wrong with that is its sign, if the op has one that it wants."""
    return (POSITIVE if is_negative and name in OF_POSITIVE else CURES[name]) + of_rounding(dtype)


def of_rounding(dtype):
    """Returns when another format helps what is singular anyway, to end a cure; "" of a wide dtype."""
    return f"; {ONLY_WHERE} {NARROW[dtype]} has made the value" if dtype in NARROW else ""


def few_of(name, args, kwargs, out):
    """Returns the Exact of a mean or deviation of no elements, or of no more than are subtracted from their number."""
    correction = kwargs.get("correction")
    least = FEW[name] if correction is None else correction + 1
    few = args[0].numel() // max(1, out.numel()) < least
    return Exact("it is taken over too few elements" if args[0].numel() else "it is taken over no element",
                 "pass over such batches") if few else None


def labels_too_long():
    """Returns the Exact of a CTC loss that is Inf."""
    return Exact("labels are longer than their inputs allow", "give it zero_infinity=True, or leave such samples out")


def weightless(log_probabilities, targets, weights, reduction=1, ignored=-100):
    """Returns the Exact of a mean over targets that are all ignored, or whose weights are all 0."""
    targets = targets[targets != ignored]
    if not targets.numel():
        return Exact("all of its targets are ignored, so that it is 0/0", "pass over such batches")
    if weights is not None and not bool(weights[targets].any()):
        return Exact("the weights of all of its targets are 0, so that it is 0/0", "pass over such batches, or give their classes weights")
    return None


def exact_of(name, args, kwargs, out, rewritten, narrow=None):
    """Returns the Exact of the Inf and NaN that an op made of finite numbers; None if some of it may be for want of range.

    rewritten: whether out lies where the op's first argument lay. narrow: the dtype that its operand had before it was cast, or None.
    """
    if name in FEW:
        return few_of(name, args, kwargs, out)
    if name in DETERMINANTS:
        return SINGULAR_MATRIX if bool((out == -math.inf).any()) and not bool((out == math.inf).any()) else None
    if name in CTC:
        return labels_too_long()
    if name in ("nll_loss_forward", "nll_loss2d_forward"):
        return weightless(*args)
    by_zero = divided_by_zero(name, args, out)
    if by_zero is not None:
        why, cure = by_zero
        return Exact(why, cure + of_rounding(out.dtype))
    if name not in SINGULAR or name in PAIRS:
        return None
    if rewritten and name not in SECOND:
        at, nan = int(out.isinf().sum()), int(out.isnan().sum())
        if at and name not in LOGARITHMS | ARCS | {"sqrt"}:  # of the others Inf may be an overflow
            return None
        words = [f"{many(n, 'value')} {where}" for n, where in ((at, "at which it is infinite"), (nan, "outside of its domain")) if n]
        return Exact(f"its operand held {' and '.join(words)}", cure_of(name, narrow or out.dtype, not at), (narrow or out.dtype) in NARROW)
    x = operand_of(name, args)
    if x is None or bool((~out.isfinite() & ~(outside(name, x) | poles(name, x))).any()):
        return None
    return Exact(held_text(name, x), cure_of(name, narrow or x.dtype, not bool(poles(name, x).any())), (narrow or x.dtype) in NARROW)


def slope_of(name, args, out, rewritten):
    """Returns (how many elements of an op's operand its slope is infinite at, a text of that), or None if there are none."""
    if name not in SINGULAR or name in QUOTIENTS and (name != "div" or not isinstance(args[1], torch.Tensor)):
        return None
    if rewritten and name not in SECOND:
        if name != "sqrt":
            return None
        x = out  # which is zero where its operand was
    else:
        x = operand_of(name, args, True)
    at = 0 if x is None else int(poles(name, x).sum())
    return (at, held_text(name, x)) if at else None


def slope_exact(name, text, dtype):
    """Returns the Exact of a gradient of an op that slope_of() has told of."""
    return Exact(f"{text}, where the slope of {name} is {'undefined' if name in PAIRS else 'infinite'}", cure_of(name, dtype) + BEFORE,
                 dtype in NARROW)


def of_module(exact, modules):
    """Returns an Exact with what helps where torch's own code divides by the norm of a weight. modules: those that run, the innermost first."""
    is_weights = exact is not None and bool(modules) and type(modules[0]).__module__ == PARAMETRIZATIONS
    return Exact(f"{exact.why}, the norm of a weight that is all zero", VECTOR) if is_weights else exact


def exact_of_infinity(name, x, is_given):
    """Returns the Exact of NaN that an op made of Inf in x that did not arise in the model, or was meant, as a mask's. is_given: whether
    the layer got it."""
    if "softmax" in name and not bool((x == torch.inf).any()):
        return Exact("whole rows of it are masked with -Inf", MASKED)
    if is_given:
        return GIVEN
    return Exact("Inf of a constant came to 0·Inf or Inf − Inf", CONSTANT)
