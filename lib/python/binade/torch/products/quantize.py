# SPDX-License-Identifier: Apache-2.0
"""quantize() and Quantized: round tensors inside of a model, and let gradients pass in the backward pass."""
import dataclasses
import math

import numpy as np
import torch

from ... import _binade

HAS_SETUP_CONTEXT = hasattr(torch.autograd.Function, "setup_context")  # torch 2.0, for torch.func


def amax_log2(x, format):
    """Returns the exponent of the power of two that brings the largest magnitude of x just under the format's largest number. NaNs
    do not count."""
    return _binade._amax_scale_log2(float(x.abs().nan_to_num(0.0, math.inf).amax()) if x.numel() else 0.0, format)


def is_block_format(format):
    """Whether a format is text that names a block format, as "mxfp4" or "e2m1:block=1x32:scale=e8m0"."""
    if not isinstance(format, str):
        return False
    try:
        _binade.scale_rules(format)
    except ValueError:
        return "block=" in format
    return True


BLOCK_OPTIONS = {"scale_rule", "axis", "tensor_amax"}


@dataclasses.dataclass(frozen=True)
class Rounding:
    """How quantize() rounds a tensor; options are those of binade.quantize."""

    format: object
    scale: object
    gradient: object
    options: tuple
    is_block: bool = False

    def of(self, x):
        """Returns x rounded, in its dtype."""
        x = x.detach()
        name = str(x.dtype).removeprefix("torch.")
        if self.scale is not None and x.element_size() == 1:
            raise ValueError(f"quantize: {name} does not hold what was rounded at another scale; give a tensor of float32")
        if self.is_block:
            if x.element_size() == 1:
                raise ValueError(f"quantize: {name} does not hold values under scales of blocks; give a tensor of float32")
            return _binade.quantize(x.cpu(), self.format, **dict(self.options)).to(x.dtype).to(x.device)
        on_cpu = x.cpu()
        factor = self._factor(on_cpu)
        if factor != 1:
            on_cpu = (on_cpu if on_cpu.dtype == torch.float64 else on_cpu.float()) * factor
        out = _binade.quantize(on_cpu, self.format, **dict(self.options))
        if factor == 1 and out.dtype != x.dtype:
            raise ValueError(f"quantize: {name} does not hold every number of {self.format}; give a tensor of float32")
        return (out / factor if factor != 1 else out).to(x.dtype).to(x.device)

    def drawn(self, call):
        """Returns the same with the seed of the given call."""
        options = dict(self.options)
        if options.get("rounding") not in ("stochastic", "rs"):
            return self
        options = tuple({**options, "seed": options.get("seed", 0) + call}.items())
        return dataclasses.replace(self, options=options, gradient=self.gradient and self.gradient.drawn(call))

    def _factor(self, x):
        if self.scale is None:
            return 1
        if self.scale != "amax":
            return self.scale
        return 2.0 ** amax_log2(x, _binade.Format(self.format).name)


class Straight(torch.autograd.Function):
    """Autograd's function: rounds forward, and passes the gradient as it is, or rounded to a format of its own."""

    if HAS_SETUP_CONTEXT:
        @staticmethod
        def forward(x, how):
            return how.of(x)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.gradient = inputs[1].gradient

        @staticmethod
        def vmap(info, in_dims, x, how):
            if how.scale == "amax" or how.is_block:
                what = 'scale="amax" is one' if how.scale == "amax" else "scales of blocks are those"
                raise ValueError(f"quantize: {what} of a whole tensor, which torch.vmap does not see")
            return Straight.apply(x, how), in_dims[0]
    else:
        @staticmethod
        def forward(ctx, x, how):
            ctx.gradient = how.gradient
            return how.of(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient if ctx.gradient is None else Straight.apply(gradient, ctx.gradient), None


def rounding_of(format, scale, gradient, options):
    if (isinstance(scale, str) and scale != "amax" or isinstance(scale, bool)
            or not isinstance(scale, (int, float, str, type(None)))):
        raise ValueError(f'scale {scale!r}: None, a number or "amax" is wanted')
    if isinstance(scale, int | float) and not (math.isfinite(scale) and scale > 0):
        raise ValueError(f"scale {scale!r}: a finite number above 0 is wanted")
    if {"counts", "out"} & options.keys():
        raise TypeError("quantize: counts= and out= are binade.quantize's; here rounding, saturation, nan, flush, seed, "
                        "random_bits, and of block formats scale_rule, axis, tensor_amax")
    blocks = [one for one in (format, gradient) if is_block_format(one)]
    if scale is not None and blocks:
        raise ValueError(f"scale {scale!r}: has no effect on {blocks[0]}, whose blocks have scales: leave it out")
    some_nan = any(_binade.Format(one).has_nan for one in (format, gradient) if one is not None and one not in blocks)

    def rounding(to, scale, behind):  # nan= is of the format that has one, if only one has
        if to in blocks:
            takes = options.keys() - ({"nan", "saturation", "flush"} if len(blocks) == 1 and gradient is not None else set())
        else:
            takes = {key for key in options if key != "nan" or not some_nan or _binade.Format(to).has_nan}
            takes -= BLOCK_OPTIONS if blocks else set()
        return Rounding(to, scale, behind, tuple((key, options[key]) for key in sorted(takes)), to in blocks)

    how = rounding(format, scale, None if gradient is None else rounding(gradient, scale and "amax", None))
    for one in filter(None, (how, how.gradient)):  # raises ValueError for options that are wrong
        _binade.quantize(np.zeros(1), one.format, **{key: value for key, value in one.options if key != "axis"})
    return how


def quantize(x, format, *, gradient=None, scale=None, **options):
    """Rounds every element of a tensor to a format. In the backward pass the gradient of x is the gradient of the result.

    x: a floating tensor of any shape; a tensor on a GPU is copied to the CPU and back.
    format: a name such as "e4m3", a specification such as "e5m7", or a binade.Format; or a block format, such as "mxfp8_e4m3".
    gradient: a format to which the gradient is rounded; None: it is not.
    scale: a factor by which elements are multiplied before they are rounded, and divided after. "amax": the power of two that
        brings the tensor's largest magnitude just under the format's largest number, or 1 if that magnitude is 0 or infinite;
        NaNs do not count. The gradient has a scale of its own.
    options: rounding, saturation, nan, flush, seed and random_bits of binade.quantize(), and for block formats scale_rule, axis
        and tensor_amax in the place of saturation, nan and flush.

    Returns a tensor of x's shape, dtype and device. It is rounded once, except in float16 and bfloat16 with a scale or in a block
    format, where the quotient or the value is rounded to the dtype again, also to infinity. Raises ValueError, in one line, if the dtype does not hold the
    format's numbers, or if it has 8 bits and there is a scale, at which none of these holds them.

    >>> import torch
    >>> import binade.torch
    >>> x = torch.tensor([0.1, 3.3], requires_grad=True)
    >>> y = binade.torch.quantize(x, "e4m3")
    >>> y.tolist()
    [0.1015625, 3.25]
    >>> y.sum().backward()
    >>> x.grad.tolist()
    [1.0, 1.0]
    """
    if not isinstance(x, torch.Tensor) or not x.is_floating_point():
        raise TypeError(f"x: a floating tensor is wanted, not {x.dtype if isinstance(x, torch.Tensor) else type(x).__name__}")
    return Straight.apply(x, rounding_of(format, scale, gradient, options))


class Quantized(torch.nn.Module):
    """A module that applies quantize(), also as a parametrization: then a layer computes with the rounded parameter.

    It takes the arguments of quantize(). With rounding="stochastic" each call has a seed of its own, from `seed` on.

    >>> import torch
    >>> import binade.torch
    >>> layer = torch.nn.Linear(2, 1, bias=False)
    >>> _ = torch.nn.utils.parametrize.register_parametrization(layer, "weight", binade.torch.Quantized("e2m1"))
    >>> bool(torch.equal(layer.weight, binade.torch.quantize(layer.parametrizations.weight.original, "e2m1")))
    True
    """

    def __init__(self, format, *, gradient=None, scale=None, **options):
        super().__init__()
        self._how = rounding_of(format, scale, gradient, options)
        self._calls = 0

    def forward(self, x):
        how = self._how.drawn(self._calls)
        self._calls += 1
        return Straight.apply(x, how)

    def extra_repr(self):
        shown = [repr(self._how.format)]
        if self._how.gradient is not None:
            shown.append(f"gradient={self._how.gradient.format!r}")
        if self._how.scale is not None:
            shown.append(f"scale={self._how.scale!r}")
        return ", ".join(shown + [f"{key}={value!r}" for key, value in self._how.options])
