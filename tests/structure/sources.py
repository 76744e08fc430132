# SPDX-License-Identifier: Apache-2.0
#
# The files of the project that the structure tests check: those that git tracks or would track; in a copy without git, all
# except those in build folders, folders whose names begin with a dot, and caches.

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def is_left_out(path):
    parts = path.parts
    return parts[0].startswith("build") or parts[0] == "dist" or any(
        part in ("__pycache__", ".git", ".venv", ".ccache", ".cache", ".deps", ".ipynb_checkpoints")
        for part in parts)


def all_files():
    """Paths relative to the project's root, sorted."""
    command = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z",
               "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
        paths = [pathlib.PurePosixPath(name) for name in listed.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        paths = []
    if not paths:
        paths = [pathlib.PurePosixPath(path.relative_to(ROOT)) for path in ROOT.rglob("*")]
    return sorted(path for path in set(paths) if (ROOT / path).is_file() and not is_left_out(path))


def levels_of_vectors():
    """The kernel levels that have a vector unit, in ascending order: avx2, …"""
    names = re.findall(r'\{"(\w+)", Level::', text_of("emulate/fast/kernels.h"))
    return [name for name in names if (ROOT / f"emulate/fast/{name}.h").is_file()]


def text_of(path):
    """The text of a file, or None if it is not text."""
    data = (ROOT / path).read_bytes()
    try:
        return None if b"\0" in data else data.decode("utf-8")
    except UnicodeDecodeError:
        return None
