# SPDX-License-Identifier: Apache-2.0
"""Runs the notebooks of this folder against a built program, in a copy, and judges them.

    python notebooks/run_notebook.py build/binade [--page FOLDER] [--figures FOLDER]

A notebook passes if it is stored clean (no outputs, no execution counts, the same metadata as
every other), runs without an error and draws a figure. The copy is thrown away; --page
keeps NAME.html, the text and the figures without the code, --figures keeps NAME_1.png,
NAME_2.png, …. BINADE_TEST_PYTHON, if set, names the interpreter. Exit 77 where a Python package
is missing.
"""

import argparse
import base64
import importlib.util
import io
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

if os.environ.get("BINADE_TEST_PYTHON"):
    python = os.environ.pop("BINADE_TEST_PYTHON")
    os.execvp(python, [python, *sys.argv])

PACKAGES = ["nbformat", "nbclient", "nbconvert", "ipykernel", "matplotlib", "PIL"]
missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
if missing:
    print(f"SKIP: Python packages are missing: {', '.join(missing)} (tests/requirements.txt)")
    sys.exit(77)

import nbformat  # noqa: E402
from nbclient import NotebookClient  # noqa: E402
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError  # noqa: E402
from nbconvert import HTMLExporter  # noqa: E402
from PIL import Image  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
CELL_SECONDS = 120


def working_copy(folder):
    """What a notebook may read, at the same relative places; this interpreter as its kernel."""
    (folder / "notebooks").mkdir()
    shutil.copytree(ROOT / "experiments" / "data", folder / "experiments" / "data")
    kernel = folder / "jupyter" / "kernels" / "python3"
    kernel.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (kernel / "kernel.json").write_text(json.dumps({"argv": argv, **METADATA["kernelspec"]}))
    os.environ.update(
        JUPYTER_PATH=str(folder / "jupyter"), JUPYTER_CONFIG_DIR=str(folder / "config"),
        JUPYTER_RUNTIME_DIR=str(folder / "runtime"), IPYTHONDIR=str(folder / "ipython"),
        PYDEVD_DISABLE_FILE_VALIDATION="1")
    return folder / "notebooks"


def judge_storage(notebook):
    """What keeps a stored notebook from giving clean diffs."""
    complaints = []
    try:
        nbformat.validate(notebook)
    except nbformat.ValidationError as error:
        complaints.append(f"is not valid: {str(error).splitlines()[0]}")
    if (notebook.nbformat, notebook.nbformat_minor) != (4, 5):
        complaints.append(f"has format {notebook.nbformat}.{notebook.nbformat_minor}, not 4.5")
    if notebook.metadata != METADATA:
        complaints.append(f"has metadata other than {METADATA}")
    for cell in notebook.cells:
        if cell.metadata:
            complaints.append(f"stores metadata in cell {cell.id}")
        if cell.get("outputs") or cell.get("execution_count") is not None:
            complaints.append(f"stores an output or an execution count in cell {cell.id}")
    return complaints


def figures(notebook):
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [base64.b64decode(o["data"]["image/png"]) for o in outputs if "image/png" in o.get("data", {})]


def run(path, copy):
    """The notebook with its outputs, and the complaints about it."""
    notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    complaints = judge_storage(notebook)
    client = NotebookClient(notebook, timeout=CELL_SECONDS, kernel_name="python3",
                            resources={"metadata": {"path": str(copy)}})
    try:
        client.execute()
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        complaints.append("does not run:\n" + re.sub(r"\x1b\[[0-9;]*m", "", str(error)))
    else:
        if not figures(notebook):
            complaints.append("draws no figure")
    return notebook, complaints


def keep_page(notebook, file):
    page, _ = HTMLExporter(exclude_input=True).from_notebook_node(notebook)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(page, encoding="utf-8")
    print(f"  {file}")


def keep_figure(png, file):
    """With a palette: a third of the bytes, and nothing to see."""
    file.parent.mkdir(parents=True, exist_ok=True)
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    picture.quantize(128, dither=Image.Dither.NONE).save(file, optimize=True)
    print(f"  {file}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binade", type=Path, help="the built program")
    parser.add_argument("--page", type=Path, metavar="FOLDER", help="keep each notebook as a page")
    parser.add_argument("--figures", type=Path, metavar="FOLDER", help="keep the figures")
    options = parser.parse_args()
    os.environ["BINADE"] = str(options.binade.resolve())

    paths = sorted((ROOT / "notebooks").glob("*.ipynb"))
    failed = not paths
    print(f"{len(paths)} notebooks, {options.binade}")
    with tempfile.TemporaryDirectory() as folder:
        copy = working_copy(Path(folder))
        for path in paths:
            notebook, complaints = run(path, copy)
            drawn = figures(notebook)
            failed = failed or bool(complaints)
            for complaint in complaints:
                print(f"{path.name} {complaint}")
            print(f"{path.name}: {'failed' if complaints else 'passed'}, {len(drawn)} figures")
            if options.page:
                keep_page(notebook, options.page / f"{path.stem}.html")
            for number, png in enumerate(drawn if options.figures else [], 1):
                keep_figure(png, options.figures / f"{path.stem}_{number}.png")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
