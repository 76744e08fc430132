# SPDX-License-Identifier: Apache-2.0
"""Which gradients bind a loss scale: those that FP16 holds, or would hold under autocast in a run in FP32 or BF16."""
import torch

NARROW = (torch.float16, torch.bfloat16)
CAST = "ToCopyBackward0"
# The nodes of autograd of what ends a model in FP32, also under autocast, which runs it in FP32: losses and probabilities.
ENDS = {f"{op}Backward0" for op in (
    "LogSoftmax", "Softmax", "Logsumexp", "NllLoss", "NllLoss2D", "MseLoss", "SmoothL1Loss", "HuberLoss", "L1Loss",
    "BinaryCrossEntropy", "BinaryCrossEntropyWithLogits", "KlDiv", "CtcLoss", "SoftMarginLoss", "MultiMarginLoss",
    "MultilabelMarginLoss")}
# Those of what takes a parameter in FP32 as it is; autocast casts none for them. The second ones may stand between a parameter
# and a product that it is cast for, unless it is the scale or the shift of a norm, of one axis.
TAKES_AS_IS = {f"{op}Backward0" for op in (
    "Embedding", "EmbeddingBag", "NativeLayerNorm", "NativeBatchNorm", "CudnnBatchNorm", "MiopenBatchNorm", "NativeGroupNorm",
    "FusedRmsNorm")}
ARITHMETIC = {f"{op}Backward0" for op in ("Mul", "Add", "Sub", "Div")}
PRODUCTS = {f"{op}Backward0" for op in ("Mm", "Bmm", "Mv")}
VIEWS = tuple(f"{op}Backward" for op in ("UnsafeView", "View", "Reshape", "ReshapeAlias", "Squeeze", "Unsqueeze", "Alias"))
TURNED = tuple(f"{op}Backward" for op in ("T", "Transpose", "Permute", "Expand", *(view.removesuffix("Backward") for view in VIEWS)))


def origin_of(x, module):
    """Returns what there is to know of an output of a module before its gradient comes: (whether it is a scalar that is not
    FP16, its node's name, the ids of the parameters of more than one axis of a module that
    calls no other)."""
    own = () if module._modules else module._parameters.values()
    weights = [id(parameter) for parameter in own if parameter is not None and parameter.dim() > 1]
    return x.dim() == 0 and x.dtype != torch.float16, type(x.grad_fn).__name__, weights


def is_linear(node):
    """Whether a sum is, or may be, what linear() makes of its product and its bias, where these are not one op, as of inputs of three
    axes that are not contiguous: of a view of a product whose weight is turned, or frozen."""
    for product, _ in node.next_functions:
        if not type(product).__name__.startswith(VIEWS):
            continue
        while product is not None and type(product).__name__.startswith(VIEWS):
            product = product.next_functions[0][0]
        if type(product).__name__ in PRODUCTS:
            weights = [type(of).__name__ for of, _ in product.next_functions[-1:]]
            return all(name == "NoneType" or name.startswith(TURNED) for name in weights)
    return False


def parameters_as_is(outputs):
    """Returns {id of a parameter: whether it is not FP16, and nothing casts it to a narrow dtype} of those that the
    outputs come from.

    What lies behind a checkpoint, or in a compiled graph, is not there.
    """
    found, seen, waiting = {}, set(), [x.grad_fn for x in outputs]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        name = type(node).__name__
        for child, _ in node.next_functions:
            if type(child).__name__ != "AccumulateGrad":
                waiting.append(child)
                continue
            of = child.variable
            as_is = of.dtype != torch.float16 and (name in TAKES_AS_IS or (name in ARITHMETIC and of.dim() == 1 and not (
                name == "AddBackward0" and is_linear(node))))
            found[id(of)] = found.get(id(of), True) and as_is
    return found


def unbound_text(rows, listed):
    """Returns a line about gradients that bind no loss scale, and why. rows: dicts with layer and role; listed(names): some names
    in words."""
    why = {"dAct": "of losses, and of what autocast computes in FP32 before them", "dW": "of parameters that autocast casts for no op"}
    parts = {role: [f"{row['layer']} {role}" for row in rows if row["role"] == role] for role in why}
    told = [f"those {why[role]} ({listed(names)})" for role, names in parts.items() if names]
    return [f"Gradients that bind no loss scale, since they stay in FP32 under autocast: {', and '.join(told)}."] if told else []


class Bound:
    """Which gradients of one step bind a loss scale.

    narrow: the narrow dtype that the step's outputs have, or None. as_is: as parameters_as_is() gives it.
    """

    def __init__(self):
        self.narrow, self.as_is = None, {}
        self._begun = False  # whether the backward pass has come to a gradient that binds

    def see_outputs(self, outputs):
        """Sees the outputs of a whole model."""
        self._begun = False
        for key, as_is in parameters_as_is(x for x in outputs if x.requires_grad).items():
            self.as_is[key] = self.as_is.get(key, True) and as_is

    def output_binds(self, origin, gradient):
        """Returns whether an output's gradient binds a scale. Gradients come in the order of the backward pass: what is before
        all that binds is FP32 from the loss on, or would be, unless something that is not seen had it in a narrow dtype. What a
        weight is multiplied for that autocast casts is narrow under it, also where a run has it in FP32."""
        scalar, node, weights = origin
        gradient = gradient.detach()
        if scalar:
            return False
        is_product = any(not self.as_is.get(key, False) for key in weights)
        if not self._begun and gradient.dtype != torch.float16 and not is_product:
            ends = node in ENDS or (self.narrow is not None and node != CAST and
                                    not torch.equal(gradient, gradient.to(self.narrow).to(gradient.dtype)))
            if ends:
                return False
        self._begun = True
        return True

    def parameter_binds(self, parameter):
        return not self.as_is.get(id(parameter), False)
