# SPDX-License-Identifier: Apache-2.0
"""What is said of an operand of a loss that held Inf or NaN and that the model did not give: data, or a factor that the loop computes."""
import torch

from .exact import SKIP, Exact

# Whence it is, and what to do.
OF_DATA = "the model did not give it, but the data of this step, or what was made of them", SKIP
OF_TERM = "a term of the loss, that the model did not give", "look at what makes that number"
OF_NUMBER = "a factor of the loss, that the model did not give, as its scale or a weight", "look at what makes that number"
OF_ONE_ROW = ("look for what is not defined of a batch of one row, as the last batch of an epoch may be: the standard deviation of one value is "
              "0/0 (torch.std, torch.var); leave such a batch out (drop_last=True), or normalize over all rows before they are divided into batches")
OF_HALF = ("the model did not give it, but the data of this step, or what was made of them in FP16, whose largest number is 65504",
           "compute the loss in FP32, and skip or mend batches that hold it already")
BY_INDEX = ("; what a mask is to leave out must not come to this op (index by the mask, as in pred[mask] - target[mask], or put numbers in its "
            "place by torch.where or nan_to_num): a product with the mask after it leaves NaN, since 0·NaN is NaN")
FACTORS = {"mul": ("self", "other"), "div": ("other",)}  # operands that weigh what a loss sums up
WEIGHTS = ("weight", "pos_weight")  # arguments of losses that do
ZERO_BY_ZERO = "0/0", "a weight of samples, of classes or of timesteps, a noise schedule at its end"
BY_ZERO = "a division by zero", "a weight of samples or classes, one over a count or a variance"


def cure_of_data(cure, what, x):
    """Returns what to do about data that hold NaN or Inf, with what helps where a mask is to leave some of them out. x: a tensor of their shape."""
    return cure + BY_INDEX if what == "NaN" and cure == SKIP and x.numel() > 1 else cure


def outside_exact(op, name, x, found):
    """Returns the Exact of such an operand, x, that an op of a loss has by a name. found: as of an Origin."""
    what = "NaN" if found["nan"] else "Inf"
    if name in WEIGHTS or name in FACTORS.get(op, ()) and x.numel() > 1 and not (x.dtype == torch.float16 and what == "Inf"):
        return of_factor(op, name, x, what)
    is_half = x.dtype == torch.float16 and what == "Inf"
    where, cure = OF_NUMBER if x.numel() == 1 and op == "mul" else OF_HALF if is_half else OF_DATA
    if what == "NaN" and op == "mul" and x.shape == (1,):
        cure = OF_ONE_ROW
    cure = cure_of_data(cure, what, x)
    return Exact(f"the {'input' if name == 'self' else name} of {op} in the loss holds {what}: {where}: {cure}", cure)


def of_factor(op, name, x, what):
    rows = ~x.isfinite().reshape(len(x), -1).all(1) if x.dim() else ~x.isfinite().reshape(1)
    where, examples = ZERO_BY_ZERO if what == "NaN" else BY_ZERO
    cure = f"look for {where} in what computes it ({examples}), or skip such batches if it is data"
    kind = f"the {name} of {op} in the loss holds {what}: it" if name in WEIGHTS else (
        f"a factor of the loss (a weight, a target), in {op}, that the model did not give,")
    return Exact(f"{kind} is {what} in {int(rows.sum()):,} of {len(rows):,} rows: {cure}", cure)
