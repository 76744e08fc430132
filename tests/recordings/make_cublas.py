# SPDX-License-Identifier: Apache-2.0
#
# Records products by cuBLAS, as PyTorch calls it, on this machine's GPU: six rows of A, six columns of B and their elements of
# D, so that a recording of a product of any size stays small. The second command adds what `binade identify` finds in them.
#   make_cublas.py record OUT                 on a machine with a GPU and PyTorch 2.8 or newer
#   make_cublas.py identify BINADE FILE…      anywhere: writes the finding into the files
import json
import struct
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib" / "identify"))
import library_products as library  # noqa: E402

# dtypes of A and B, how, M, N and K
PRODUCTS = [
    ("bf16", "bf16", "mm", 16, 16, 64), ("bf16", "bf16", "mm", 128, 128, 1024), ("bf16", "bf16", "mm_f32", 16, 16, 64),
    ("bf16", "bf16", "mm_f32", 128, 128, 1024), ("bf16", "bf16", "mm_f32", 2048, 1024, 768),
    ("bf16", "bf16", "mm_f32", 64, 64, 4096), ("f16", "f16", "mm", 64, 64, 256), ("f16", "f16", "mm_f32", 512, 512, 512),
    ("f16", "f16", "mm_acc16", 16, 16, 64), ("f16", "f16", "mm_acc16", 512, 512, 512),
    ("f32", "f32", "mm_tf32", 512, 512, 512), ("f32", "f32", "mm_tf32", 128, 128, 1024), ("f32", "f32", "mm", 64, 64, 256),
    ("f32", "f32", "mm", 512, 512, 512), ("f32", "f32", "mm", 1, 256, 1024), ("f64", "f64", "mm", 64, 64, 256),
    ("e4m3", "e4m3", "scaled_fast", 128, 128, 1024), ("e4m3", "e4m3", "scaled", 128, 128, 1024),
    ("e4m3", "e4m3", "scaled", 64, 64, 4096), ("e5m2", "e4m3", "scaled_fast", 512, 512, 512),
    ("e5m2", "e4m3", "scaled", 512, 512, 512),
]


def chosen(n):
    return list(range(n)) if n <= 6 else [0, 1, n // 3, n // 2 + 3, n - 2, n - 1]


def record(out):
    import torch
    from torch.profiler import ProfilerActivity, profile

    Path(out).mkdir(parents=True, exist_ok=True)
    words = {torch.float16: "F16", torch.bfloat16: "BF16", torch.float32: "F32", torch.float64: "F64",
             torch.float8_e4m3fn: "F8_E4M3", torch.float8_e5m2: "F8_E5M2"}
    dtypes = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64,
              "e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
    settings = torch.backends.cuda.matmul
    one = torch.tensor(1.0, device="cuda")
    calls = {"mm": ("torch.mm(a, b)", torch.mm),
             "mm_f32": ("torch.mm(a, b, out_dtype=torch.float32)", lambda a, b: torch.mm(a, b, out_dtype=torch.float32)),
             "mm_acc16": ("torch.mm(a, b), allow_fp16_accumulation", torch.mm),
             "mm_tf32": ("torch.mm(a, b), allow_tf32", torch.mm)}
    for fast in (True, False):
        calls["scaled_fast" if fast else "scaled"] = (
            f"torch._scaled_mm(a, b, 1, 1, out_dtype=torch.float32, use_fast_accum={fast})",
            lambda a, b, fast=fast: torch._scaled_mm(a, b, one, one, out_dtype=torch.float32, use_fast_accum=fast))
    major, minor = torch.cuda.get_device_capability()
    for seed, (of_a, of_b, how, m, n, k) in enumerate(PRODUCTS):
        draw = torch.Generator().manual_seed(seed)
        a = torch.randn(m, k, generator=draw).to(dtypes[of_a])
        b = torch.randn(k, n, generator=draw).to(dtypes[of_b])
        settings.allow_tf32, settings.allow_fp16_accumulation = how == "mm_tf32", how == "mm_acc16"
        on_gpu = a.cuda(), b.t().contiguous().cuda().t() if how.startswith("scaled") else b.cuda()
        text, call = calls[how]
        call(*on_gpu)
        with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as seen:
            d = call(*on_gpu)
            torch.cuda.synchronize()
        kernels = [e.name.split("(")[0] for e in seen.events() if str(e.device_type).endswith("CUDA") and "Mem" not in e.name]
        rows, columns = chosen(m), chosen(n)
        parts = {"a": a[rows], "b": b[:, columns].contiguous(), "d": d.cpu()[rows][:, columns].contiguous()}
        arrays = {key: (words[x.dtype], x.shape, x.view(torch.uint8).numpy().tobytes()) for key, x in parts.items()}
        name = f"cublas_sm{10 * major + minor}_{of_a}_{of_b}_{how}_{m}x{n}x{k}.tensors"
        metadata = {"how": f"{text} of {m} x {n} x {k}, torch {torch.__version__}", "gpu": torch.cuda.get_device_name(),
                    "cuda": torch.version.cuda, "kernels": " | ".join(kernels)}
        Path(out, name).write_bytes(library.tensors_file(arrays, metadata))
        print(name, metadata["kernels"])


def identify(binade, *paths):
    for path in map(Path, paths):
        data = path.read_bytes()
        (length,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8:8 + length])
        words = [word for key in "abd" for word in (f"--{key}", f"{path}:{key}")]
        done = subprocess.run([binade, "identify", "--arch", "sm_" + path.name.split("_")[1][2:], "--json", *words], stdout=subprocess.PIPE)
        found = json.loads(done.stdout)
        command = found["explain"][0]["command"].removeprefix("binade gemm ") if found["explain"] else "none"
        metadata = {**header["__metadata__"], "conclusion": found["conclusion"], "command": command}
        at = {key: header[key]["data_offsets"] for key in "abd"}
        arrays = {key: (header[key]["dtype"], header[key]["shape"], data[8 + length + at[key][0]:8 + length + at[key][1]])
                  for key in "abd"}
        path.write_bytes(library.tensors_file(arrays, metadata))
        print(f"{path.name:<55} {path.stat().st_size:>7}  {found['conclusion']:<8} {command}")


if __name__ == "__main__":
    {"record": record, "identify": identify}[sys.argv[1]](*sys.argv[2:])
