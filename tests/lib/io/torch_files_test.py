# SPDX-License-Identifier: Apache-2.0
#
# The report on tensors has the same bytes in whatever format their file is: files of torch's beside the same tensors in
# .safetensors, either those that a newer torch wrote to torch_files/, or ones that the installed torch writes now.
#   torch_files_test.py BINADE recorded FOLDER | torch_files_test.py BINADE made   (with torch)
import subprocess
import sys
import tempfile
from pathlib import Path


def report(binade, folder, name):
    done = subprocess.run([binade, "report", name, "--json", "-"], cwd=folder, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else done.stderr


def compare(binade, folder):
    """Formats found, and complaints about them."""
    found, complaints = [], []
    for expected in sorted(folder.glob("*/expected/tensors")):
        format_folder = expected.parents[1]
        want, got = report(binade, expected.parent, "tensors"), report(binade, format_folder, "tensors")
        found.append(format_folder.name)
        if not want.startswith("{"):
            complaints.append(f"{format_folder.name}: {want}")
        elif want != got:
            lines = zip(want.splitlines(), got.splitlines())
            complaints.append(f"{format_folder.name}: " + next((f"{a} != {b}" for a, b in lines if a != b), "cut off"))
    return found, complaints


def main(binade, what, *folder):
    binade = str(Path(binade).resolve())
    if what == "recorded":
        must = {"protocol2", "unchecked", "sharded_bin", "dcp"}
        found, complaints = compare(binade, Path(folder[0]))
    else:
        must = {"protocol2", "protocol4", "protocol5", "lone", "sharded_safetensors", "sharded_bin"}
        import make_torch_files as make
        with tempfile.TemporaryDirectory() as made:
            make.write_archives(Path(made))
            make.write_sharded(Path(made))
            found, complaints = compare(binade, Path(made))
    if missing := must - set(found):
        complaints.append(f"no {', '.join(sorted(missing))}")
    print(f"{len(found)} formats:", *found)
    print(*complaints, sep="\n")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
