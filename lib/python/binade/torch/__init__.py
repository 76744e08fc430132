# SPDX-License-Identifier: Apache-2.0
"""binade.torch shows what happens to the numbers of a PyTorch model while it trains, and runs models as Tensor Cores do.

Watching    watch, Watch, Run, Window
Findings    Alert, NonFinite, Advice
Emulating   tensor_cores, TensorCores; quantize, Quantized
Checking    tensor_cores(check=True), Account
Comparing   invariance, Invariance; compare, Comparison
Scaling     LossScaler

>>> import torch
>>> import binade.torch
>>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
>>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
>>> with binade.torch.watch(model, optimizer, every=2) as w:
...     for _ in range(4):
...         loss = model(torch.ones(2, 4)).square().mean()
...         optimizer.zero_grad()
...         loss.backward()
...         optimizer.step()
>>> [(window.first, window.last, window.steps) for window in w.windows]
[(0, 0, 1), (2, 2, 1)]
>>> w.summaries()[0, "0", "dW"].values
32
"""
from ._tensor_cores import tensor_cores
from .check.account import Account
from .products.quantize import Quantized, quantize
from .products.tensor_cores import TensorCores
from .scaling.loss_scaler import LossScaler
from .variance.compare import Comparison, compare
from .variance.invariance import Invariance, invariance
from .watch.advice import Advice
from .watch.alerts import Alert
from .watch.values.nonfinite import NonFinite
from .watch.run import Run, Window
from .watch.watch import Watch, watch  # so the function stands before the folder of its name

__all__ = [
    "Account", "Advice", "Alert", "Comparison", "Invariance", "LossScaler", "NonFinite", "Quantized", "Run", "TensorCores",
    "Watch", "Window", "compare", "invariance", "quantize", "tensor_cores", "watch",
]
