# SPDX-License-Identifier: Apache-2.0
"""What explanations of products are told and tested by: models as words, products held against a model, some rows of many."""
import torch

from ... import _binade


def model_of_words(words):
    model = _binade.GemmModel.__new__(_binade.GemmModel)
    model.__setstate__(words)
    return model


def validated(model, a, b, d, c):
    return _binade.validate(a, b, d, c, model=model, show=4)


def evenly(x, most):
    """Returns at most so many rows of x, evenly spread from the first to the last."""
    return x if len(x) <= most else x[torch.linspace(0, len(x) - 1, most).long()]


def explained_text(x):
    """Returns text of what explains a product, from Explaining's dict: the order, how K runs, and the options of `binade gemm`."""
    over = f", K over {x['k_runs_over']}" if x["k_runs_over"] else ""
    return f"{x['order']}{over} ({x['by'].replace('--instruction ', '')})"
