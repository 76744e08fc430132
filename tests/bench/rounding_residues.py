# SPDX-License-Identifier: Apache-2.0
"""How large rounding leaves gradients of biases that are zero in exact arithmetic, beside gradients that are not; what
lib/python/binade/torch/watch/values/residues.py tells apart by. Of each model and dtype: the norm of the bias's gradient over that of the terms
that it sums (the gradient of its layer's output), in rounding errors of the dtype (half a unit roundoff), and over the norm of all
gradients of weights.

    PYTHON tests/bench/rounding_residues.py       of a Python with torch 2
"""
import math

import torch

ERROR_LOG2 = {torch.bfloat16: -9, torch.float16: -12}


class Attention(torch.nn.Module):
    """One head with separate projections; the key's bias moves all scores of a row alike, which the softmax cancels."""

    def __init__(self, width, fused):
        super().__init__()
        self.q, self.k, self.v, self.out = (torch.nn.Linear(width, width) for _ in range(4))
        self.fused = fused

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x) + 3
        if self.fused:
            return self.out(torch.nn.functional.scaled_dot_product_attention(q[:, None], k[:, None], v[:, None])[:, 0])
        return self.out(torch.softmax(q @ k.transpose(1, 2) / math.sqrt(q.shape[-1]), -1) @ v)


def models():
    """Yields (name, model, input, names of the layers whose biases have no gradient)."""
    for tokens in (32, 128, 512):
        for fused in (False, True):
            yield f"attention, {tokens} tokens{', fused' * fused}", Attention(32, fused), torch.randn(4, tokens, 32), {"k"}
    yield "MLP with BatchNorm", torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.BatchNorm1d(64), torch.nn.ReLU(), torch.nn.Linear(64, 8)), \
        torch.randn(256, 32), {"0"}
    yield "CNN with BatchNorm", torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3), torch.nn.BatchNorm2d(16), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(16 * 36, 8)), \
        torch.randn(32, 3, 8, 8), {"0"}


def figures(model, x):
    """Returns {layer: (norm of its bias's gradient over its terms', over that of all gradients)} after one backward pass."""
    terms = {}
    for name, module in model.named_modules():
        if getattr(module, "bias", None) is not None and isinstance(module, torch.nn.Linear | torch.nn.Conv2d):
            module.register_forward_hook(lambda _, __, out, name=name: (
                out.register_hook(lambda g: terms.__setitem__(name, float(g.double().norm()))) and None))
    y = model(x)
    (y.float() * torch.randn_like(y.float())).sum().backward()
    whole = math.sqrt(sum(float(p.grad.double().square().sum()) for p in model.parameters()))
    bias = {name: float(dict(model.named_modules())[name].bias.grad.double().norm()) for name in terms}
    return {name: (bias[name] / terms[name], bias[name] / whole) for name in terms}


def main():
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, ten seeds; the range of")
    for dtype, error in ERROR_LOG2.items():
        zero, other = [], []
        for seed in range(10):
            torch.manual_seed(seed)
            for _, model, x, without in models():
                for name, of in figures(model.to(dtype), x.to(dtype)).items():
                    (zero if name in without else other).append(of)
        errors = [ratio / 2.0**error for ratio, _ in zero]
        print(f"{str(dtype).removeprefix('torch.')}: gradients of zero {min(errors):.2g} to {max(errors):.2g} rounding errors of their terms, "
              f"at most 2^{math.log2(max(share for _, share in zero)):.1f} of the norm of all; others at least "
              f"{min(ratio for ratio, _ in other):.2g} of their terms' norm")


if __name__ == "__main__":
    main()
