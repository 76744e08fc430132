# SPDX-License-Identifier: Apache-2.0
"""tensor_cores(): PyTorch's matrix products, bit for bit as a chosen GPU's Tensor Cores give them, without that GPU."""
from .. import _binade
from .check.check import Check
from .products.narrow import Recipe
from .products.recipe_of_product import Recipes
from .products.tensor_cores import TensorCores


def tensor_cores(arch, *, order=None, attention="flash", strict=False,
                 operands=None, backward=None, scale=None, promote_every=None, model=None, modules=None,
                 check=False, save=None, calls=3, kinds=32, seconds=None):
    """Emulates an architecture's Tensor Cores for every matrix product inside of the `with`, forward and backward.

    arch: the architecture, such as "sm_90".
    order: how sums are made. None: as described below. A GemmModel with D in binary32: by it, if it takes the operands.
        "reference": exactly. A function (kind, dtype) that returns one of these; kind is "matmul", "vector" (a matrix and a
        vector), "dot", "convolution", "depthwise" or "scaled" (_scaled_mm, _scaled_grouped_mm). The Account of
        a check: by the orders that it found for products of these sizes.
    attention: how scaled_dot_product_attention is computed: "flash", as FlashAttention-2; "low_precision", rounded at each step
        as in PyTorch 1.13; "math", by matmuls as in PyTorch.
    strict: whether an op with products that is not emulated raises NotImplementedError instead of running as before.

    Narrow formats on ordinary models:

    operands: a format, such as "e4m3", to which the operands of products with a weight (mm, addmm and convolutions) are rounded;
        all other products keep their dtype. If the architecture has no instruction of the format, the narrowest one that holds
        its numbers multiplies.
    backward: the format of gradients among the operands. None: the same.
    scale: which powers of two multiply operands before they are rounded. None: none. "amax": one for each tensor. "row": one for
        each row of A and column of B. "1x128": one for each 128 positions of K (or another number) of these. "128x128": one for
        each 128 × 128 block of the weight, and as "1x128" for all other operands.
    promote_every: after so many instructions a sum is added to a register of binary32 and begins again. An FP8 instruction of
        sm_90 takes 32 positions of K, so 4 of them take 128.
    model, modules: settings for single modules of the model: {name or pattern such as "blocks.*": a dict of operands, backward,
        scale and promote_every, or None, with which operands keep their dtype}. What a dict leaves out is as above. The first
        pattern that fits a module counts, and of nested modules the innermost that has one.

    Checking a GPU:

    check: if True, the model computes with PyTorch's own products, on the CPU or on a GPU. Each is compared with its emulation,
        bit for bit, and .account is the Account of what was found.
    save: a folder, without recordings so far, to which some rows and columns of each kind of product are recorded. None: none.
    calls: how many calls of each product (op, dtype, sizes, place in the program) are compared; the others only run.
    kinds: how many times a model is looked for that explains products that differ.
    seconds: how many seconds are spent on comparing; afterwards products only run. None: no limit.

    The emulated model: one sum along K, ascending, by the architecture's usual instruction, not divided into parts; then
    alpha·sum + beta·C in binary32, rounded once to the dtype. The bias of a convolution is added to the rounded result, which is
    rounded again, as torch does. float16 and bfloat16 are multiplied as they are (bfloat16 before sm_80 by fused
    multiply-adds). float32 is multiplied as TF32 if torch.backends.cuda.matmul.allow_tf32 is set, or for convolutions
    torch.backends.cudnn.allow_tf32; else by fused multiply-adds in binary32. So are dots of all dtypes, a float32 matrix and a
    vector, and depthwise convolutions that torch computes without cuDNN. convolution.py, depthwise.py and attention.py in
    binade/torch/products describe the sums of convolutions and attention. Everything that is no product is torch's own.

    With order="reference", alpha·A·B + beta·C, or A·B and a convolution's bias, is the exact sum of all terms, alpha and beta being
    Python's floats, rounded once to the dtype, ties to even. A sum of 0 is +0; infinities and NaNs are those of IEEE 754. TF32
    is not used. Inside of attention, products are exact and rounded to binary32 (with "low_precision" to the dtype), and
    addbmm is a sequence of addmms.

    >>> import torch
    >>> import binade.torch
    >>> a, b = torch.full((1, 2), 2.0**-11).half(), torch.full((2, 1), 2.0**-14).half()
    >>> with binade.torch.tensor_cores("sm_90") as mode:
    ...     c = a @ b
    >>> mode.covered()
    [Ran(op='mm', how='mma.m16n8k16.f32.f16.f16.f32 on sm_90', calls=1)]

    Returns a TensorCores, whose .covered() and .uncovered() say which ops were emulated and which were not; with check it also has
    .account. Raises ValueError or TypeError, in one line, for a wrong architecture, order or format.
    """
    if promote_every is not None and isinstance(order, _binade.GemmModel):
        raise ValueError("promote_every: the order says it, binade.GemmModel(…, promote_every=…)")
    recipes = Recipes(Recipe(operands, backward, scale, promote_every), model, modules)
    if check:
        return Check(arch, recipes, order=order, attention=attention, strict=strict, save=save, calls=calls, kinds=kinds,
                     seconds=seconds)
    if (save, calls, kinds, seconds) != (None, 3, 32, None):
        raise TypeError("tensor_cores: save, calls, kinds and seconds are of check=True only")
    return TensorCores(arch, recipes, order=order, attention=attention, strict=strict)
