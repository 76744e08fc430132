# SPDX-License-Identifier: Apache-2.0
#
# Writes the same tensors in each format that torch's users have, by the torch that runs this. Files in .safetensors, written
# here byte by byte, have the values that each of them holds.   make_torch_files.py OUT
#   OUT/FORMAT/tensors beside OUT/FORMAT/expected/tensors: files of one name, so that reports on them are the same bytes
import argparse
import json
import struct
import sys
from collections import OrderedDict
from pathlib import Path

import numpy as np
import torch

NAMES = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32",
         "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL", "complex64": "C64", "uint16": "U16",
         "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2"}


def new(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, tensor in tensors.items():
        flat = tensor.detach().contiguous().reshape(-1)
        raw = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
        header[name] = {"dtype": NAMES[str(tensor.dtype).removeprefix("torch.")], "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    new(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


def flattened(value, name=""):
    """Tensors under the names that binade gives them."""
    if isinstance(value, torch.Tensor):
        return {name: value}
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    return {k: v for key, item in items for k, v in flattened(item, f"{name}.{key}" if name else str(key)).items()}


def trained_model():
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4, bias=False), torch.nn.ReLU(), torch.nn.Linear(3, 4, bias=False))
    model[2].weight = model[0].weight  # tied
    optimizer = torch.optim.Adam(model.parameters())
    torch.nn.functional.relu(model[0](torch.randn(5, 3))).sum().backward()
    optimizer.step()
    return model, optimizer


def checkpoint():
    model, optimizer = trained_model()
    x = torch.randn(6, 5)
    attributed = torch.tensor([2.5])
    attributed.origin = "here"
    views = {"transposed": x.t(), "slice": x[1:5:2, ::3], "expanded": x[:, :1].expand(6, 4), "scalar": x[2, 3],
             "permuted": torch.randn(2, 3, 4).permute(2, 0, 1), "empty": x[:0], "offset": x[4]}
    kinds = {"half": x.half(), "bfloat16": x.bfloat16().t(), "double": x.double(), "bool": x > 0, "int": x.int(),
             "complex": torch.complex(x, x), "parameter": torch.nn.Parameter(x.clone()), "attributed": attributed}
    for name in ("float8_e4m3fn", "float8_e5m2", "uint16"):
        if hasattr(torch, name):
            kinds[name] = torch.tensor([0.5, 1, 3]).to(getattr(torch, name))
    return {"model": OrderedDict(model.state_dict()), "optimizer": optimizer.state_dict(), "views": views,
            "kinds": kinds, "list": [torch.ones(2), (torch.zeros(1),)], "epoch": 3, "best": np.float64(0.5),
            "random": np.arange(3), "args": argparse.Namespace(lr=0.1), "path": Path("runs"), "seen": {1, 2},
            "shape": torch.Size([2]), "dtype": torch.float16, "device": torch.device("cpu"), "raw": b"\x00\xff",
            "note": None, "big": 1 << 80}


def write_archives(out):
    whole = checkpoint()
    for name, options in {"protocol2": {}, "protocol4": {"pickle_protocol": 4}, "protocol5": {"pickle_protocol": 5}}.items():
        torch.save(whole, new(out / name / "tensors"), **options)
        write_safetensors(out / name / "expected/tensors", flattened(whole))
    torch.save(whole["views"]["transposed"], new(out / "lone/tensors"))
    write_safetensors(out / "lone/expected/tensors", {"tensors": whole["views"]["transposed"]})
    if hasattr(torch.serialization, "set_crc32_options"):
        torch.serialization.set_crc32_options(False)
        torch.save(whole["views"], new(out / "unchecked/tensors"))
        torch.serialization.set_crc32_options(True)
        write_safetensors(out / "unchecked/expected/tensors", whole["views"])


def write_sharded(out):
    model, optimizer = trained_model()
    tensors = {**model.state_dict(), **flattened(optimizer.state_dict())}
    halves = [dict(list(tensors.items())[:2]), dict(list(tensors.items())[2:])]
    tied = tensors["0.weight"].numel() * 4
    for kind, save, total in (("safetensors", lambda part, path: write_safetensors(path, part), 0),
                              ("bin", torch.save, tied)):
        names = [f"model-{i + 1:05}-of-00002.{kind}" for i in range(2)]
        for name, part in zip(names, halves):
            save(part, new(out / f"sharded_{kind}" / name))
        index = {"metadata": {"total_size": sum(t.numel() * t.element_size() for t in tensors.values()) - total},
                 "weight_map": {key: name for name, part in zip(names, halves) for key in part}}
        (out / f"sharded_{kind}/tensors").write_text(json.dumps(index, indent=2))
        write_safetensors(out / f"sharded_{kind}/expected/tensors", tensors)


def distributed_tensors():
    torch.manual_seed(2)
    return {"rows": torch.randn(4, 3), "columns": torch.randn(2, 5).bfloat16(), "whole": torch.randn(3).half()}


def save_rank(rank, out, ranks):
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    dist.init_process_group("gloo", init_method=f"file://{out.resolve()}/store", rank=rank, world_size=ranks)
    mesh = init_device_mesh("cpu", (ranks,))
    tensors = distributed_tensors()
    places = {"rows": Shard(0), "columns": Shard(1), "whole": Replicate()}
    state = {name: distribute_tensor(tensors[name], mesh, [places[name]]) for name in tensors}
    dcp.save({**state, "epoch": 3}, checkpoint_id=out / "dcp/tensors")
    dist.destroy_process_group()


def write_distributed(out):
    try:
        from torch.distributed.tensor import distribute_tensor  # noqa: F401
    except ImportError:
        return
    torch.multiprocessing.spawn(save_rank, args=(out, 3), nprocs=3)
    (out / "store").unlink(missing_ok=True)
    write_safetensors(out / "dcp/expected/tensors", distributed_tensors())


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    write_archives(folder)
    write_sharded(folder)
    write_distributed(folder)
