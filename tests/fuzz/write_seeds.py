# SPDX-License-Identifier: Apache-2.0
"""Writes the inputs from which the fuzzers start: small files of every format, and the pickles of torch's archives.

    write_seeds.py FOLDER       writes FOLDER/open_tensor_file/… and FOLDER/torch_pickle/…
"""
import sys
import zipfile
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

import made_files  # noqa: E402

TORCH_FILES = TESTS / "lib/io/torch_files"


def seeds():
    """{harness: {name: bytes}}."""
    floats = made_files.npy("<f4", (2, 3), (0.5, -1, 2**-20, 3e38, 0, -0.0))
    halves = made_files.npy(">f2", (4,), (1, 2, 3, 4), fortran=True)
    files = {
        "floats.npy": floats, "halves.npy": halves,
        "stored.npz": made_files.npz(zipfile.ZIP_STORED, a=floats, b=halves),
        "deflated.npz": made_files.npz(zipfile.ZIP_DEFLATED, a=floats, b=halves),
        "two.safetensors": made_files.safetensors(("a", "F32", [2], made_files.f32(1, 2)), ("b", "BF16", [3], b"\0" * 6),
                                                  metadata={"step": "1"}),
    }
    pickles = {}
    for path in (TORCH_FILES / "protocol2/tensors", *sorted((TORCH_FILES / "sharded_bin").glob("*.bin"))):
        name = f"{path.parent.name}_{path.stem}"
        files[name] = path.read_bytes()
        with zipfile.ZipFile(path) as archive:
            pickles[name] = next(archive.read(member) for member in archive.namelist() if member.endswith("data.pkl"))
    files["unchecked"] = (TORCH_FILES / "unchecked/tensors").read_bytes()  # no checksum in it is right
    pickles["checkpoint"] = (TORCH_FILES / "dcp/tensors/.metadata").read_bytes()
    return {"open_tensor_file": files, "torch_pickle": pickles}


def write(folder):
    for harness, inputs in seeds().items():
        (folder / harness).mkdir(parents=True, exist_ok=True)
        for name, data in inputs.items():
            (folder / harness / name).write_bytes(data)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
