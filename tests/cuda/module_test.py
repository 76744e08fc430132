# SPDX-License-Identifier: Apache-2.0
#
# The program and the modules it may find beside it: none, that of this build with all GPUs hidden from it, one whose
# device fails and works, and what cannot be used. Without a GPU it says so in one line and exits with 77, which Meson counts as
# skipped; a module that is there and does not fit is a fault, one line on stderr and 2. Arguments: the program of this
# build, "built" or "absent" (the module of this build), then a fitting, a stale and a half module.

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from made_files import f32, npy, values_of_npy

FAULT, NO_HARDWARE = 2, 77
MODULE = "binade_cuda.so"


def run(program, *arguments):
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60, env=environment)


def check_absent_gpu(program, reason, module):
    """Exit status 77 and one line that begins with the reason and ends with the module, where there is one."""
    for arguments in (["device"], ["device", "--check"], ["device", "--check", "--instruction", "cvt.rn", "--cases", "9"]):
        done = run(program, *arguments)
        what = f"{program} {' '.join(arguments)}"
        assert done.returncode == NO_HARDWARE, f"{what}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
        lines = done.stdout.splitlines()
        assert len(lines) == 1 and lines[0].startswith(reason), f"{what}: says {done.stdout!r}"
        assert (f"(module {module}, built for " in lines[0]) == bool(module), f"{what}: says {done.stdout!r}"
        assert done.stderr == "", f"{what}: complains {done.stderr!r}"
        done = run(program, *arguments, "--json")
        said = json.loads(done.stdout)
        assert done.returncode == NO_HARDWARE and done.stderr == "", f"{what} --json: {done}"
        assert said["device"] is None and lines[0].startswith(said["reason"]) and said["instructions"] == [], said
        assert (said["module"] or {}).get("file", "") == module, said
    for arguments in (["--chek"], ["--instruction", "cvt"], ["--check", "--cases", "0"], ["--check", "--record", "/none"],
                      ["--check", "--instruction", "cvt.rn.f16.f23"]):
        check_fault(program, ["device", *arguments], "")


def check_fault(program, arguments, text):
    done = run(program, *arguments)
    what = f"{program} {' '.join(arguments)}"
    assert done.returncode == FAULT, f"{what}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
    assert len(done.stderr.splitlines()) == 1 and text in done.stderr, f"{what}: complains {done.stderr!r}"
    return done.stdout


def check_made_gpu(program, module):
    """The device of a module is described, and its Error is ours although it was thrown there."""
    for arguments in (["device"], ["device", "--check-kernels"]):
        text = check_fault(program, arguments, "binade: kernel of a made GPU: cudaMalloc failed; run it again\n") \
            if arguments[1:] else run(program, *arguments).stdout
        assert text.splitlines() == ["Made GPU: compute capability 9.0, 132 multiprocessors, 1.0 GiB",
                                     "CUDA 0.0 (module), up to 0.0 (driver)",
                                     f"module {module}, built for 80 90a"], text
    assert json.loads(run(program, "device", "--json").stdout)["module"] == {"file": module, "architectures": "80 90a"}


def check_bulk_work(program, folder):
    """--device has the module's device do the work, or tells what it cannot."""
    floats, out = f"{folder}/floats.npy", f"{folder}/out.npy"
    Path(floats).write_bytes(npy("<f4", (2, 2), f32(1, 2, 3, 4)))
    done = run(program, "quantize", floats, out, "--format", "e4m3", "--device")
    assert done.stdout.endswith("quantized on Made GPU: 1 of 1 tensors, those of F32\n"), done
    assert values_of_npy(Path(out).read_bytes(), "<f4") == (7, 7, 7, 7)
    name = "mma.m16n8k16.f32.f16.f16.f32"
    done = run(program, "gemm", floats, floats, "-o", out, "--instruction", name, "--arch", "sm_90", "--device", "--alpha", "2")
    assert done.stdout.endswith(f"\nsums on Made GPU: by {name} itself\n"), done
    assert values_of_npy(Path(out).read_bytes(), "<f4") == (14, 14, 14, 14)
    check_fault(program, ["report", floats, "--device"], "binade: Made GPU: this device counts no ranges; leave --device out\n")


def main():
    built, own, fitting, stale, half = sys.argv[1:]
    beside = str(Path(built).resolve().with_name(MODULE))
    if own == "built":
        check_absent_gpu(built, "no GPU: ", beside)
    with tempfile.TemporaryDirectory() as folder:
        folder = str(Path(folder).resolve())
        program, module = f"{folder}/binade", f"{folder}/{MODULE}"
        shutil.copy(built, program)
        check_absent_gpu(program, f"no GPU: there is no {module} beside this program; ./dev build makes one", "")
        shutil.copy(fitting, module)
        check_made_gpu(program, module)
        check_bulk_work(program, folder)
        link = f"{folder}/elsewhere"
        os.symlink(program, link)
        check_made_gpu(link, module)
        whole = Path(fitting).read_bytes()
        for make, says in ((lambda: shutil.copy(stale, module), "was not built together with this program"),
                           (lambda: shutil.copy(half, module), "is no device module: undefined symbol: binade_open_device"),
                           (lambda: Path(module).write_text("garbage"), "cannot be loaded: file too short"),
                           (lambda: Path(module).write_bytes(whole[:5000]), "is only the beginning of a module"),
                           (lambda: Path(module).write_bytes(whole[:-1]), "is only the beginning of a module"),
                           (lambda: os.mkfifo(module), "is a pipe, a socket or a device"),
                           (lambda: os.symlink("/none", module), "cannot be loaded: ")):
            os.unlink(module)
            make()
            for arguments in (["device"], ["device", "--json"], ["validate", "--device"], ["record", "--out", f"{folder}/out"]):
                said = check_fault(program, arguments, f"binade: {module}: {says}")
                assert said == "", f"{says}: {said!r}"
                check_fault(program, arguments, "; rebuild it with ./dev build, or remove it\n")
    print(f"a program with eight modules beside it, with none{' and with its own' if own == 'built' else ''}")


main()
