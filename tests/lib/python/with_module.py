# SPDX-License-Identifier: Apache-2.0
#
# Runs a test of the Python module in this interpreter, which can import from the repository's tests/. If the build made no
# module, or NumPy is missing, it prints that in a line and the test counts as skipped.
#   with_module.py SCRIPT [ARGUMENT...]
import importlib
import importlib.util
import pathlib
import runpy
import sys

for name, remedy in (("numpy", "./dev setup installs it into .venv"),
                     ("binade", "the build had no nanobind or no headers of Python; ./dev setup installs them")):
    if importlib.util.find_spec(name) is None:
        print(f"skipped: no module {name} in {sys.executable}: {remedy}")
        sys.exit(77)
try:
    importlib.import_module("binade")
except ModuleNotFoundError as error:
    if error.name != "binade._binade":
        raise
    print(f"skipped: the module was built for another Python than {sys.executable}, {sys.version.split()[0]}")
    sys.exit(77)
sys.argv = sys.argv[1:]
# A test that skips where torch is missing is not to skip where our own part of it is broken.
if "binade.torch" in pathlib.Path(sys.argv[0]).read_text() and importlib.util.find_spec("torch"):
    importlib.import_module("binade.torch")
    importlib.import_module("torch").manual_seed(0)  # what a test draws without a seed of its own is the same in every run
runpy.run_path(sys.argv[0], run_name="__main__")
