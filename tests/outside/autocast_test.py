# SPDX-License-Identifier: Apache-2.0
#
# lib/amp's autocast lists against the kernels PyTorch has registered for its Autocast keys, and its decisions on the
# CPU against what PyTorch's CPU autocast does with real tensors. Argument: the program amp_trace.
#
# Our lists are those of 2025. What an older PyTorch lacks or had besides is named below and anything else is a failure.
# The registrations of CUDA's list are there in CPU builds, too.

import subprocess
import sys

import torch
import torch.nn.functional as F

# Of ours, not yet in 1.13, or not in a build without cuDNN.
YOUNGER = {
    "cuda": """_cudnn_rnn _scaled_dot_product_flash_attention scaled_dot_product_attention linalg_vecdot linalg_vector_norm
        linalg_matrix_norm vdot upsample_nearest1d _upsample_nearest_exact1d upsample_nearest2d
        _upsample_nearest_exact2d upsample_nearest3d _upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d
        _upsample_bilinear2d_aa upsample_trilinear3d upsample_bicubic2d _upsample_bicubic2d_aa""".split(),
    "cpu": """linalg_vecdot _addmm_activation mkldnn_rnn_layer prelu scaled_dot_product_attention
        _native_multi_head_attention""".split(),
}
# Of 1.13, no longer there.
GONE = {"cuda": [], "cpu": ["linalg_matrix_norm", "symeig"]}
KEYS = {"cuda": "AutocastCUDA", "cpu": "AutocastCPU"}
NAMES = {torch.float32: "binary32", torch.bfloat16: "bfloat16", torch.float64: "binary64", torch.float16: "binary16"}


def registered(key):
    names = set()
    for schema in torch._C._jit_get_all_schemas():
        if not schema.name.startswith("aten::"):
            continue
        full = schema.name + ("." + schema.overload_name if schema.overload_name else "")
        try:
            if torch._C._dispatch_has_kernel_for_dispatch_key(full, key):
                names.add(schema.name[len("aten::"):])
        except RuntimeError:  # a schema that only TorchScript has
            continue
    return names


def compare_lists(program):
    complaints, compared = [], 0
    ours = {}
    for line in subprocess.run([program, "lists"], text=True, capture_output=True, check=True).stdout.splitlines():
        device, op, _ = line.split()
        ours.setdefault(device, set()).add(op)
    old = tuple(map(int, torch.__version__.split(".")[:2])) < (2, 0)
    for device, key in KEYS.items():
        theirs = registered(key)
        if len(theirs) < 80:
            complaints.append(f"{key}: only {len(theirs)} kernels found")
        lacking, besides = ours[device] - theirs, theirs - ours[device]
        compared += len(theirs & ours[device])
        if old:
            complaints += [f"{key}: {op} is on our list only" for op in sorted(lacking ^ set(YOUNGER[device]))]
            complaints += [f"{key}: {op} is registered only" for op in sorted(besides ^ set(GONE[device]))]
        else:  # every name of ours was registered in 2025; before, only younger ones may lack
            complaints += [f"{key}: {op} is on our list only" for op in sorted(lacking - set(YOUNGER[device]))]
        print(f"torch {torch.__version__} {key}: {len(theirs)} names registered, {len(theirs & ours[device])} in common; "
              f"ours only: {' '.join(sorted(lacking)) or '-'}; theirs only: {' '.join(sorted(besides)) or '-'}")
    return complaints, compared


def seen_dtype(function):
    """What a call's result tells of the dtype it ran in; None where PyTorch refuses it."""
    try:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = function()
        return NAMES[(out[0] if isinstance(out, (tuple, list)) else out).dtype]
    except (RuntimeError, IndexError, KeyError):
        return None


def calls(a, b):
    """ATen name, inputs, call. a and b are square matrices, maybe of two dtypes."""
    image, kernel = a[None, None], b[:3, :3][None, None]
    labels = torch.arange(a.shape[0])
    batch, other = a[None], b[None]
    yield "mm", (a, b), lambda: torch.mm(a, b)
    yield "matmul", (a, b), lambda: torch.matmul(a, b)
    yield "linear", (a, b), lambda: F.linear(a, b)
    yield "addmm", (a, a, b), lambda: torch.addmm(a, a, b)
    yield "bmm", (batch, other), lambda: torch.bmm(batch, other)
    yield "baddbmm", (batch, batch, other), lambda: torch.baddbmm(batch, batch, other)
    yield "addbmm", (a, batch, other), lambda: torch.addbmm(a, batch, other)
    yield "conv2d", (image, kernel), lambda: F.conv2d(image, kernel)
    yield "conv1d", (batch, other), lambda: F.conv1d(batch, other[:, :, :3])
    yield "mse_loss", (a, b), lambda: F.mse_loss(a, b)
    yield "l1_loss", (a, b), lambda: F.l1_loss(a, b)
    yield "smooth_l1_loss", (a, b), lambda: F.smooth_l1_loss(a, b)
    yield "huber_loss", (a, b), lambda: F.huber_loss(a, b)
    yield "kl_div", (a, b), lambda: F.kl_div(a, b, reduction="sum")
    yield "binary_cross_entropy", (a, b), lambda: F.binary_cross_entropy(a, b)
    yield "binary_cross_entropy_with_logits", (a, b), lambda: F.binary_cross_entropy_with_logits(a, b)
    yield "cross_entropy_loss", (a,), lambda: F.cross_entropy(a, labels)
    yield "nll_loss", (a,), lambda: F.nll_loss(a, labels)
    yield "prod", (a,), lambda: torch.prod(a)
    yield "trace", (a,), lambda: torch.trace(a)
    yield "cdist", (a, b), lambda: torch.cdist(a, b)
    yield "quantile", (a,), lambda: torch.quantile(a, 0.5)
    yield "linalg_inv", (a,), lambda: torch.linalg.inv(a)
    yield "reflection_pad1d", (a,), lambda: F.pad(a, (1, 1), mode="reflect")
    yield "replication_pad1d", (a,), lambda: F.pad(a, (1, 1), mode="replicate")
    yield "cat", (a, b), lambda: torch.cat([a, b])
    yield "stack", (a, b), lambda: torch.stack([a, b])
    yield "index_copy", (a, b), lambda: torch.index_copy(a, 0, torch.tensor([0]), b[:1])
    for name in ("softmax", "log_softmax"):
        yield name, (a,), lambda name=name: getattr(torch, name)(a, 1)
    for name in ("sum", "mean", "exp", "log", "relu", "tanh", "sigmoid", "rsqrt", "abs"):
        yield name, (a,), lambda name=name: getattr(torch, name)(a)


def compare_decisions(program):
    rows, expected = [], []
    torch.manual_seed(1)
    for first, second in [(torch.float32, torch.float32), (torch.bfloat16, torch.bfloat16),
                          (torch.float32, torch.bfloat16), (torch.bfloat16, torch.float32),
                          (torch.float64, torch.float64)]:
        a, b = torch.rand(6, 6).to(first), torch.rand(6, 6).to(second)
        for op, inputs, call in calls(a, b):
            names = [NAMES[x.dtype] for x in inputs]
            seen = seen_dtype(call)
            if seen is not None:
                rows.append(f"bfloat16 {op} " + " ".join(names))
                expected.append((names, seen))
    ours = subprocess.run([program, "decide"], input="\n".join(rows) + "\n", text=True, capture_output=True,
                          check=True).stdout.splitlines()
    complaints, cast = [], 0
    for row, (names, seen), to in zip(rows, expected, ours, strict=True):
        widest = max(names, key=["bfloat16", "binary32", "binary64"].index)
        runs = widest if to == "-" else to
        cast += to not in ("-", names[0])
        if runs != seen:
            complaints.append(f"{row}: ours runs in {runs}, theirs in {seen}")
    print(f"{len(rows)} calls on the CPU compared, in {cast} of them the first input is cast")
    if len(rows) < 120 or cast < 40:
        complaints.append("too few calls were compared")
    return complaints


def main(program):
    complaints, compared = compare_lists(program)
    complaints += compare_decisions(program)
    print(*complaints, sep="\n")
    print(f"{compared} names compared")
    return 1 if complaints or compared < 170 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
