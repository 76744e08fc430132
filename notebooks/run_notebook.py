# SPDX-License-Identifier: Apache-2.0
"""Runs the notebooks of this folder with a built module, in a copy, and judges them.

    python notebooks/run_notebook.py build/lib/python [--only NAME] [--store] [--page FOLDER] [--figures FOLDER]

A notebook passes if it is stored well (no execution counts, the same metadata as every other), runs without an error,
draws a figure, and writes the text that is stored with it, cell by cell. A picture that is not what is stored is named and
fails nothing: it hangs on the version of Matplotlib. A notebook that imports torch runs where the interpreter has torch 2;
elsewhere only how it is stored is judged. What a training writes hangs on torch and on the machine: it is not compared.
--store writes the outputs into the notebooks. The copy is thrown away; --page keeps NAME.html, the text and the figures
without the code, --figures keeps NAME_1.png, NAME_2.png, …. BINADE_TEST_PYTHON, if set, names the interpreter. Exit 77
where a Python package or the module is missing, or torch to the only notebook.
"""

import argparse
import base64
import difflib
import importlib.metadata
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
if not list(Path(sys.argv[1] if len(sys.argv) > 1 else "", "binade").glob("_binade.*")):
    print("SKIP: the Python module was not built (nanobind, python3-dev)")
    sys.exit(77)
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
CELL_SECONDS = 180  # none takes a minute on a machine that does nothing else


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


def figures(notebook):
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [base64.b64decode(o["data"]["image/png"]) for o in outputs if "image/png" in o.get("data", {})]


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
        if cell.get("execution_count") is not None:
            complaints.append(f"stores an execution count in cell {cell.id}")
    if not figures(notebook):
        complaints.append("stores no figure (--store)")
    return complaints


def imports_torch(notebook):
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    return re.search(r"^\s*(import|from) (torch|binade\.torch)\b", code, re.MULTILINE) is not None


def why_no_torch():
    """What keeps this interpreter from running a notebook that imports torch, or None."""
    try:
        version = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return "torch 2 is missing"
    return None if int(version.split(".")[0]) >= 2 else f"torch {version} is older than 2"


PICTURE = "image/png"


def text_of(outputs):
    """All that is text, with what kind each is: what must stay. Errors of a run are judged elsewhere."""
    lines = []
    for output in outputs:
        if output.output_type == "stream":
            lines += [f"[{output.name}]", *output.text.splitlines()]
        for kind, data in sorted(output.get("data", {}).items()):
            if kind == "text/html" or kind.startswith("image/"):
                continue  # pictures are compared as pictures; tables stand as text too
            lines += [f"[{kind}]", *"".join(data).splitlines()]
    # A figure's text is its size, which is the version's of Matplotlib.
    return [re.sub(r"<Figure size .*>", "<Figure>", line) for line in lines]


def pictures_of(outputs):
    return [output["data"][PICTURE] for output in outputs if PICTURE in output.get("data", {})]


def same_picture(stored, drawn):
    pixels = [Image.open(io.BytesIO(base64.b64decode(stored))).convert("RGB"),
              with_palette(base64.b64decode(drawn)).convert("RGB")]
    return pixels[0].size == pixels[1].size and pixels[0].tobytes() == pixels[1].tobytes()


def judge_outputs(stored, ran, exactly):
    """Complaints about text, and the numbers of the pictures that changed; not exactly: about how many pictures alone."""
    complaints, changed, number = [], [], 0
    for before, after in zip(stored.cells, ran.cells):
        if before.cell_type != "code":
            continue
        old, new = text_of(before.outputs), text_of(after.outputs)
        if exactly and old != new:
            lines = "\n".join(list(difflib.unified_diff(old, new, "stored", "now", lineterm="", n=1))[:30])
            complaints.append(f"cell {before.id} writes another text than is stored (--store):\n{lines}")
        old, new = pictures_of(before.outputs), pictures_of(after.outputs)
        if len(old) != len(new):
            complaints.append(f"cell {before.id} draws {len(new)} pictures and not {len(old)} (--store)")
        for a, b in zip(old, new):
            number += 1
            if exactly and not same_picture(a, b):
                changed.append(number)
    return complaints, changed


def store(notebook, path):
    """The outputs into the file, without what differs from run to run; pictures with a palette."""
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type != "code":
            continue
        cell.execution_count = None
        for output in cell.outputs:
            output.pop("execution_count", None)
            if output.output_type == "execute_result":
                output.execution_count = None
            output.get("metadata", {}).clear()
            for kind in [kind for kind in output.get("data", {}) if kind == PICTURE]:
                file = io.BytesIO()
                with_palette(base64.b64decode(output["data"][kind])).save(file, "png", optimize=True)
                output["data"][kind] = base64.b64encode(file.getvalue()).decode() + "\n"
    notebook.metadata = nbformat.from_dict(METADATA)
    nbformat.write(notebook, path)


def run(path, copy):
    """The notebook with its outputs, the complaints about it, and the numbers of the pictures that changed."""
    stored = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    complaints, changed = judge_storage(stored), []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    client = NotebookClient(notebook, timeout=CELL_SECONDS, kernel_name="python3",
                            resources={"metadata": {"path": str(copy)}})
    try:
        client.execute()
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        complaints.append("does not run:\n" + re.sub(r"\x1b\[[0-9;]*m", "", str(error)))
    else:
        if not figures(notebook):
            complaints.append("draws no figure")
        texts, changed = judge_outputs(stored, notebook, exactly=not imports_torch(stored))
        complaints += texts
    return notebook, complaints, changed


def keep_page(notebook, file):
    page, _ = HTMLExporter(exclude_input=True).from_notebook_node(notebook)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(page, encoding="utf-8")
    print(f"  {file}")


def with_palette(png):
    """A third of the bytes, and nothing to see."""
    return Image.open(io.BytesIO(png)).convert("RGB").quantize(128, dither=Image.Dither.NONE)


def keep_figure(png, file):
    file.parent.mkdir(parents=True, exist_ok=True)
    with_palette(png).save(file, optimize=True)
    print(f"  {file}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("module", type=Path, help="the folder of the built module")
    parser.add_argument("--only", metavar="NAME", help="one notebook: 01_gradient_range")
    parser.add_argument("--store", action="store_true", help="write the outputs into the notebooks")
    parser.add_argument("--page", type=Path, metavar="FOLDER", help="keep each notebook as a page")
    parser.add_argument("--figures", type=Path, metavar="FOLDER", help="keep the figures")
    options = parser.parse_args()
    os.environ["PYTHONPATH"] = str(options.module.resolve())

    paths = sorted((ROOT / "notebooks").glob(f"{options.only or '*'}.ipynb"))
    failed, ran = not paths, 0
    print(f"{len(paths)} notebook{'s' * (len(paths) != 1)}, {options.module}")
    with tempfile.TemporaryDirectory() as folder:
        copy = working_copy(Path(folder))
        for path in paths:
            stored = nbformat.read(path, as_version=nbformat.NO_CONVERT)
            why_not = why_no_torch() if imports_torch(stored) else None
            if why_not:
                complaints = judge_storage(stored)
                outcome = f"SKIP, only how it is stored was judged: {why_not}"
            else:
                ran += 1
                notebook, complaints, changed = run(path, copy)
                drawn = figures(notebook)
                outcome = f"passed, {len(drawn)} figures"
                if options.store and not any(complaint.startswith("does not run") for complaint in complaints):
                    store(notebook, path)
                    complaints, changed, outcome = [], [], "stored"
                if changed:
                    print(f"{path.name}: of its figures these are not as stored: {', '.join(map(str, changed))}")
                if options.page:
                    keep_page(notebook, options.page / f"{path.stem}.html")
                for number, png in enumerate(drawn if options.figures else [], 1):
                    keep_figure(png, options.figures / f"{path.stem}_{number}.png")
            failed = failed or bool(complaints)
            for complaint in complaints:
                print(f"{path.name} {complaint}")
            print(f"{path.name}: {'failed' if complaints else outcome}")
    if failed:
        return 1
    return 0 if ran else 77


if __name__ == "__main__":
    sys.exit(main())
