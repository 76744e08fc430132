# SPDX-License-Identifier: Apache-2.0
#
# SGD, Adam, AdamW and clip_grad_norm_ of the engine against torch.optim's loop over tensors on the CPU. In float32 with
# ATEN_CPU_CAPABILITY=default every weight of every step is equal in every bit. PyTorch's AVX2 kernels fuse a multiply
# and an add where they see one (add_ with alpha, addcmul_, addcdiv_), so on those the distance is bounded instead: a
# fused op differs by at most one rounding of the product, u·|product|, and the sums that follow carry it on; the bound
# is worked out beside each case. In float16 (and with masters) against the same formulas in NumPy, each op in float32
# and rounded to float16, as PyTorch's CUDA kernels compute: equal in every bit.
# Run as torch_optimizer_test.py TORCH_OPTIMIZER PRINT_TABLES; exits with 77 where PyTorch is not installed.

import math
import os
import subprocess
import sys
import tempfile

try:
    import numpy
    import torch
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tables import tables_of  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])
PLAIN = os.environ.get("ATEN_CPU_CAPABILITY") == "default"
STEPS = 6
DEFAULTS = {"lr": 0.1, "momentum": 0.0, "nesterov": False, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8,
            "weight_decay": 0.0, "master": True, "clip": 0.0, "late": 0}
F32 = numpy.float32


class Case:
    def __init__(self, kind, dtype="float32", n=1003, **options):
        self.kind, self.dtype, self.n = kind, dtype, n
        self.options = {**DEFAULTS, **options}

    def __str__(self):
        changed = " ".join(f"{k}={v}" for k, v in self.options.items() if v != DEFAULTS[k])
        return f"{self.kind} {self.dtype} n={self.n} {changed}"

    def make(self, seed):
        random = numpy.random.default_rng(seed)
        spread = 4 if self.dtype == "float16" else 12
        draw = lambda *shape: random.standard_normal(shape) * 2.0**random.integers(-spread, 3, shape)
        self.w = draw(self.n).astype(self.dtype).astype(F32)
        self.g = draw(STEPS, self.n).astype(self.dtype).astype(F32)
        self.g[:, ::17] = 0  # and signs that never change, and ones that do
        self.g[:, 1::17] = numpy.abs(self.g[:, 1::17])

    def line(self, index):
        o = self.options
        return " ".join([str(index), self.dtype, self.kind, repr(o["lr"]), repr(o["momentum"]), str(int(o["nesterov"])),
                         repr(o["beta1"]), repr(o["beta2"]), repr(o["eps"]), repr(o["weight_decay"]),
                         str(int(o["master"])), repr(o["clip"]), str(o["late"])])

    def by_torch(self):
        o = self.options
        w = torch.nn.Parameter(torch.tensor(self.w))
        other = torch.nn.Parameter(torch.ones(1))  # has a gradient when w has none yet
        other.grad = torch.ones(1)
        both = [other, w]
        common = {"lr": o["lr"], "weight_decay": o["weight_decay"], "foreach": False}
        if self.kind == "sgd":
            optimizer = torch.optim.SGD(both, momentum=o["momentum"], nesterov=o["nesterov"], **common)
        else:
            make = torch.optim.Adam if self.kind == "adam" else torch.optim.AdamW
            optimizer = make(both, betas=(o["beta1"], o["beta2"]), eps=o["eps"], **common)
        seen = []
        for t, g in enumerate(self.g):
            w.grad = torch.tensor(g) if t >= o["late"] else None
            if o["clip"]:
                torch.nn.utils.clip_grad_norm_([w], o["clip"])
            optimizer.step()
            seen.append(w.detach().numpy().copy())
        return numpy.array(seen)

    def by_numpy(self, kept):
        """Each op in float32, rounded to `kept`; factors are Python floats cast to float32."""
        o = self.options
        rounded = lambda x: x.astype(kept).astype(F32)
        f = F32
        w = self.w.copy()
        m, v = numpy.zeros_like(w), numpy.zeros_like(w)
        seen = []
        for t, g in enumerate(self.g, 1 - o["late"]):
            if t < 1:
                seen.append(self.w)
                continue
            decay = o["weight_decay"]
            if self.kind == "adamw" and decay:
                w = rounded(w * f(1 - o["lr"] * decay))
            elif decay:
                g = rounded(g + f(decay) * w)
            if self.kind == "sgd":
                if o["momentum"]:
                    m = g if t == 1 else rounded(rounded(m * f(o["momentum"])) + g)
                    g = rounded(g + f(o["momentum"]) * m) if o["nesterov"] else m
                w = rounded(w + f(-o["lr"]) * g)
            else:
                m = rounded(rounded(m * f(o["beta1"])) + f(1 - o["beta1"]) * g)
                v = rounded(rounded(v * f(o["beta2"])) + f(1 - o["beta2"]) * g * g)
                root = rounded(rounded(numpy.sqrt(v)) / f(math.sqrt(1 - o["beta2"]**t)))
                denominator = rounded(root + f(o["eps"]))
                with numpy.errstate(all="ignore"):
                    w = rounded(w + f(-(o["lr"] / (1 - o["beta1"]**t))) * m / denominator)
            seen.append(w if kept == "float32" and self.dtype == "float32" else w.astype(self.dtype).astype(F32))
        return numpy.array(seen)

    def fused_bound(self):
        """How far fused products may put float32 weights after each step. u = 2^-24.

        sgd: g + wd·w, m·momentum + g, g + momentum·m, w - lr·g: at most four roundings a step, each that of a product
        no larger than the largest magnitude on its way. Errors of the buffer are multiplied by momentum < 1 and summed:
        1 / (1 - momentum) of them. adam: |lr·m/(sqrt(v)…)| <= lr·c, c from the largest ratio that was seen; its relative
        error is that of six roundings in m (of the sum of magnitudes, for m cancels) and in v (which does not)."""
        o, u = self.options, 2.0**-24
        size = numpy.abs(self.w).astype(float)
        total = numpy.zeros(self.n)
        bound = []
        m, v = numpy.zeros(self.n), numpy.zeros(self.n)
        for at, g in enumerate(numpy.abs(self.g).astype(float)):
            t = at + 1 - o["late"]
            if t < 1:
                bound.append(total.copy())
                continue
            if self.kind == "adamw":
                size = size * (1 + o["lr"] * o["weight_decay"])
            else:
                g = g + o["weight_decay"] * size
            if self.kind == "sgd":
                m = o["momentum"] * m + g
                moved = o["lr"] * (g + o["momentum"] * m + m)
            else:
                m = o["beta1"] * m + (1 - o["beta1"]) * g
                v = o["beta2"] * v + (1 - o["beta2"]) * self.g[at].astype(float)**2
                root = numpy.sqrt(v / (1 - o["beta2"]**t)) + o["eps"]
                moved = o["lr"] / (1 - o["beta1"]**t) * m / numpy.where(root > 0, root, 1)
            size = size + moved
            # 4 t: roundings so far in m and v; then those of the step itself, and the last sum's.
            total = total + u * ((4 * t + 8) * moved + 2 * size)
            if o["weight_decay"]:
                total = total * (1 + 4 * o["lr"] * o["weight_decay"])
            bound.append(total.copy())
        return numpy.array(bound)


def cases():
    rates = [0.1, 1e-3]
    for n in (1003, 5):  # with vectors and a tail; with a tail only
        for lr in rates:
            yield Case("sgd", n=n, lr=lr)
            yield Case("sgd", n=n, lr=lr, momentum=0.9)
            yield Case("sgd", n=n, lr=lr, momentum=0.9, nesterov=True)
            yield Case("sgd", n=n, lr=lr, momentum=0.9, weight_decay=0.01)
            yield Case("sgd", n=n, lr=lr, momentum=0.5, nesterov=True, weight_decay=0.1)
            yield Case("adam", n=n, lr=lr)
            yield Case("adam", n=n, lr=lr, weight_decay=0.0625, eps=1e-3)
            yield Case("adamw", n=n, lr=lr, weight_decay=0.01)
            yield Case("adamw", n=n, lr=lr, weight_decay=0.01, late=3)
            yield Case("sgd", n=n, lr=lr, momentum=0.9, late=3)
            yield Case("adamw", n=n, lr=lr, beta1=0.5, beta2=0.75, weight_decay=0.1)
    half = [("sgd", {}), ("sgd", {"momentum": 0.9}), ("sgd", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
            ("adam", {"eps": 1e-4, "lr": 0.01}), ("adam", {"eps": 1e-8, "weight_decay": 0.1}),
            ("adamw", {"eps": 1e-4, "weight_decay": 0.1})]
    for kind, options in half:
        for master in (False, True):
            yield Case(kind, "float16", master=master, **options)


def equal(a, b):
    return int(((a.view(numpy.uint32) == b.view(numpy.uint32)) | (numpy.isnan(a) & numpy.isnan(b))).sum())


def check(case, got):
    """(failures, how many weights differ by fusing)"""
    exact = case.by_numpy("float16" if case.dtype == "float16" and not case.options["master"] else "float32")
    if equal(got, exact) != got.size:
        return [f"{case}: {got.size - equal(got, exact)} of {got.size} weights are not NumPy's"], 0
    if case.dtype == "float16":
        moved = int((got[-1] != case.w).sum())
        return ([] if moved > case.n // 4 else [f"{case}: hardly a weight moved"]), 0
    wanted = case.by_torch()
    differ = got.size - equal(got, wanted)
    if PLAIN:
        return ([] if differ == 0 else [f"{case}: {differ} of {got.size} weights are not PyTorch's"]), differ
    off = numpy.abs(got.astype(float) - wanted)
    bound = case.fused_bound()
    beyond = int((off > bound).sum())
    return ([f"{case}: {beyond} weights further than fusing explains, {(off / bound).max():.2f} of the bound"]
            if beyond else []), differ


def check_clipping(folder):
    """The norm is summed in another order, so clipping with max_norm far below it: within 2·(n + 8) u of PyTorch's."""
    case = Case("sgd", lr=1.0, clip=0.5, n=257)
    case.make(99)
    got = run(folder, [case])[0]
    wanted = case.by_torch()
    u = 2.0**-24
    change = numpy.cumsum(numpy.minimum(numpy.abs(case.g), 0.5), axis=0)
    size = numpy.abs(case.w) + change
    bound = (2 * (case.n + 8) * u) * change + numpy.arange(1, STEPS + 1)[:, None] * u * size
    off = numpy.abs(got.astype(float) - wanted)
    unclipped = Case("sgd", lr=1.0, n=257)
    unclipped.make(99)
    if equal(run(folder, [unclipped])[0], got) > got.size // 2:
        return ["clipping did nothing"]
    return [] if (off <= bound).all() else ["clip_grad_norm_ differs from PyTorch's"]


def run(folder, made):
    with open(f"{folder}/cases.txt", "w", encoding="utf-8") as lines:
        for i, case in enumerate(made):
            numpy.save(f"{folder}/{i}.w.npy", case.w)
            numpy.save(f"{folder}/{i}.g.npy", case.g)
            lines.write(case.line(i) + "\n")
    subprocess.run([PROGRAM, folder], check=True)
    return [numpy.load(f"{folder}/{i}.y.npy") for i in range(len(made))]


def main():
    failures, differing, compared = [], {}, 0
    with tempfile.TemporaryDirectory() as folder:
        made = list(cases())
        for i, case in enumerate(made):
            case.make(i)
        for case, got in zip(made, run(folder, made)):
            problems, differ = check(case, got)
            failures += problems
            differing[case.kind] = differing.get(case.kind, 0) + differ
            compared += got.size
        failures += check_clipping(folder)
    failures += [f"no case of {name}" for name in tables_of(sys.argv[2])["optimizers"] if name not in differing]
    print(*failures, sep="\n", end="\n" if failures else "")
    kernels = "plain" if PLAIN else torch.__config__.show().split("CPU capability usage: ")[-1].split("\n")[0]
    print(f"PyTorch {torch.__version__}, {kernels} kernels: {len(made)} cases, {compared} weights; other bits by fusing: "
          f"{differing}")
    return 1 if failures or compared < 100000 else 0


if __name__ == "__main__":
    code = main()
    if not PLAIN and not code:  # the kernels are chosen when torch is loaded
        code = subprocess.run([sys.executable, *sys.argv], check=False,
                              env={**os.environ, "ATEN_CPU_CAPABILITY": "default"}).returncode
    sys.exit(code)
