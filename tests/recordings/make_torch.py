# SPDX-License-Identifier: Apache-2.0
#
# Records what PyTorch does on this machine's GPU: attention by each of its kernels, the dtype that autocast gives each
# operation, and how often functions in half precision give float32's result, rounded once.
#   make_torch.py OUT            on a machine with a GPU and PyTorch 2.8 or newer
import json
import re
import sys
from pathlib import Path

import torch
import torch.nn.functional as functional
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib" / "identify"))
from library_products import tensors_file  # noqa: E402

HALVES = {"f16": torch.float16, "bf16": torch.bfloat16}
BACKENDS = ("math", "flash_attention", "efficient_attention", "cudnn_attention")
FUNCTIONS = {name: getattr(torch, name) for name in
             "exp exp2 expm1 log log2 log1p sqrt rsqrt reciprocal sigmoid tanh erf sin cos square".split()}
FUNCTIONS |= {name: getattr(functional, name) for name in "silu gelu softplus elu mish logsigmoid hardswish".split()}
FUNCTIONS |= {"gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"), "times_third": lambda x: x * (1 / 3),
              "plus_third": lambda x: x + 1 / 3, "divided_by_3": lambda x: x / 3}


def code(x):
    return x.contiguous().view(torch.int16).numpy().tobytes()


def attention(out, word, dtype, rows, width, causal):
    draw = torch.Generator().manual_seed(rows)
    q, k, v = (torch.randn(1, 1, rows, width, generator=draw).to(dtype) for _ in range(3))
    found = {"q": q, "k": k, "v": v}
    for device in ("cuda", "cpu"):
        for name in BACKENDS if device == "cuda" else BACKENDS[:2]:
            try:
                with sdpa_kernel(getattr(SDPBackend, name.upper())):
                    d = functional.scaled_dot_product_attention(*(x.to(device) for x in (q, k, v)), is_causal=causal)
                found[f"{device}_{name}"] = d.cpu()
            except RuntimeError as error:
                print(name, device, str(error).split("\n")[0])
    arrays = {name: (word.upper(), (rows, width), code(x[0, 0])) for name, x in found.items()}
    name = f"attention_{word}_{rows}x{width}{'_causal' if causal else ''}.tensors"
    Path(out, name).write_bytes(tensors_file(arrays, {"torch": torch.__version__, "gpu": torch.cuda.get_device_name()}))
    print(name, *list(found)[3:])


def same(x, y):
    """How many of the elements are equal, signs of zeros included; NaN equals NaN."""
    equal = (x == y) & (torch.signbit(x) == torch.signbit(y)) | (x.isnan() & y.isnan())
    return int(equal.sum())


def functions():
    codes = torch.arange(65536, dtype=torch.int32).to(torch.int16)
    out = {}
    for word, dtype in HALVES.items():
        x = codes.view(dtype)
        for name, f in FUNCTIONS.items():
            on_gpu = f(x.cuda()).cpu()
            out[f"{word} {name}"] = {"float32 on the GPU, rounded": same(on_gpu, f(x.float().cuda()).to(dtype).cpu()),
                                     "binary64, rounded": same(on_gpu, f(x.double()).to(dtype)),
                                     "the CPU's": same(on_gpu, f(x))}
    return out


def calls():
    def t(*shape):
        return lambda make: make(*shape)

    f = functional
    two, three, image, one = t(4, 4), t(2, 4, 4), t(1, 2, 8, 8), t(4)
    label = torch.zeros(4, dtype=torch.long)
    table = {"matmul": (torch.matmul, two, two), "mm": (torch.mm, two, two), "mv": (torch.mv, two, one),
             "bmm": (torch.bmm, three, three), "addmm": (torch.addmm, two, two, two),
             "baddbmm": (torch.baddbmm, three, three, three), "linear": (f.linear, two, two),
             "conv2d": (f.conv2d, image, t(3, 2, 3, 3)), "conv_transpose2d": (f.conv_transpose2d, image, t(2, 3, 3, 3)),
             "einsum": (lambda a, b: torch.einsum("ij,jk->ik", a, b), two, two), "prelu": (f.prelu, two, t(1)),
             "scaled_dot_product_attention": (f.scaled_dot_product_attention,) + (t(1, 1, 8, 16),) * 3,
             "softmax": (lambda a: f.softmax(a, -1), two), "log_softmax": (lambda a: f.log_softmax(a, -1), two),
             "layer_norm": (lambda a: f.layer_norm(a, (4,)), two), "group_norm": (lambda a: f.group_norm(a, 2), three),
             "rms_norm": (lambda a: f.rms_norm(a, (4,)), two),
             "batch_norm": (lambda a: f.batch_norm(a, None, None, training=True), two),
             "pow": (lambda a: a ** 2, one), "sum": (torch.sum, one), "mean": (torch.mean, one), "prod": (torch.prod, one),
             "cumsum": (lambda a: a.cumsum(0), one), "norm": (torch.norm, one), "dist": (torch.dist, one, one),
             "cdist": (torch.cdist, two, two), "relu": (f.relu, one), "mse_loss": (f.mse_loss, one, one),
             "l1_loss": (f.l1_loss, one, one), "smooth_l1_loss": (f.smooth_l1_loss, one, one),
             "cross_entropy": (lambda a: f.cross_entropy(a, label.to(a.device)), two),
             "nll_loss": (lambda a: f.nll_loss(a, label.to(a.device)), two), "kl_div": (f.kl_div, one, one),
             "binary_cross_entropy_with_logits": (f.binary_cross_entropy_with_logits, one, one),
             "addcmul": (torch.addcmul, one, one, one), "bilinear": (f.bilinear, two, two, t(4, 4, 4)),
             "cosine_similarity": (f.cosine_similarity, two, two), "logsumexp": (lambda a: a.logsumexp(0), two),
             "interpolate": (lambda a: f.interpolate(a, scale_factor=2, mode="bilinear"), image),
             "avg_pool2d": (lambda a: f.avg_pool2d(a, 2), image)}
    return table | {name: (f, one) for name, f in FUNCTIONS.items() if "_" not in name}


def autocast(device, low):
    """The dtypes of results, of inputs of the low dtype and of float32."""
    out = {}
    for name, (call, *inputs) in sorted(calls().items()):
        row = []
        for dtype in (low, torch.float32):
            def make(*shape):
                return (torch.rand(*shape) + 0.1).to(dtype).to(device)
            try:
                with torch.autocast(device, dtype=low):
                    row.append(str(call(*(x(make) for x in inputs)).dtype).removeprefix("torch."))
            except RuntimeError as error:
                row.append("error: " + str(error).split("\n")[0])
        out[name] = row
    return out


def main(out):
    Path(out).mkdir(parents=True, exist_ok=True)
    for word, dtype in HALVES.items():
        for rows, causal in ((16, False), (64, False), (64, True)):
            attention(out, word, dtype, rows, 64, causal)
    facts = {"torch": torch.__version__, "cuda": torch.version.cuda, "gpu": torch.cuda.get_device_name(),
             "functions": functions(),
             "autocast": {f"{device} {word}": autocast(device, dtype) for device in ("cuda", "cpu")
                          for word, dtype in HALVES.items()}}
    rows = re.sub(r"[\[{][^\[\]{}]*[\]}]", lambda row: json.dumps(json.loads(row[0])), json.dumps(facts, indent=1))
    Path(out, "facts.json").write_text(rows + "\n")


main(sys.argv[1])
