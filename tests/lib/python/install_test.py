# SPDX-License-Identifier: Apache-2.0
#
# The package built and installed by pip as users do it, into fresh environments: with the newest NumPy for this Python
# and with one of the 1.x line. In each the tests of the package run on what was installed, away from the sources.
# It takes minutes, and is skipped if PyPI cannot be reached. Run as install_test.py PATH_TO_BINADE.

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from cli_case import CliCase, main

TESTS = pathlib.Path(__file__).resolve().parents[2]
SOURCES = TESTS.parent
NUMPYS = ("numpy", "numpy==1.26.4")


def run(*words, timeout=1500):
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith(("PYTHON", "PIP_", "VIRTUAL_ENV", "BINADE_", "MESON_", "MAKEFLAGS"))}
    return subprocess.run(words, cwd=tempfile.gettempdir(), env=environment, capture_output=True, text=True,
                          check=False, timeout=timeout)


def sources(folder):
    """What a clone would hold of the working tree: all but builds, and what git keeps for itself."""
    left_out = shutil.ignore_patterns(".git", ".venv", ".ccache", ".cache", "build*", "dist", "__pycache__", ".mesonpy*",
                                      "recordings")
    return shutil.copytree(SOURCES, folder, ignore=left_out)


class Install(CliCase):
    def python(self, name, *packages):
        """The interpreter of a fresh environment that holds these packages."""
        folder = self.path(name)
        result = run(sys.executable, "-m", "venv", folder)
        if result.returncode != 0:
            self.skipTest("this Python makes no virtual environments: " + result.stdout.strip()[-200:])
        python = os.path.join(folder, "bin", "python")
        result = run(python, "-m", "pip", "install", "--quiet", "--retries", "1", "--only-binary", ":all:", *packages)
        if result.returncode != 0:
            self.skipTest(f"pip cannot have {packages}: {result.stderr.strip()[-300:]}")
        return python

    def test_installed(self):
        pythons = [self.python(f"env{i}", numpy) for i, numpy in enumerate(NUMPYS)]
        clone = sources(self.path("clone"))
        wheels = self.path("wheels")
        result = run(pythons[0], "-m", "pip", "wheel", "--no-deps", "--wheel-dir", wheels, str(clone))
        self.assertEqual(result.returncode, 0, result.stdout[-3000:] + result.stderr[-3000:])
        shutil.rmtree(clone)  # what was installed finds nothing there
        wheel, = pathlib.Path(wheels).iterdir()
        for python, numpy in zip(pythons, NUMPYS):
            with self.subTest(numpy):
                result = run(python, "-m", "pip", "install", "--quiet", "--no-deps", str(wheel))
                self.assertEqual(result.returncode, 0, result.stderr)
                self.examine(python)

    def examine(self, python):
        for name in ("package_test.py", "docs_test.py", "arrays_test.py"):
            script = TESTS / "lib/python" / name
            if script.exists():
                started = f"import sys, runpy; sys.path.insert(0, {str(TESTS)!r}); sys.argv = sys.argv[1:]; " \
                          "runpy.run_path(sys.argv[0], run_name='__main__')"
                result = run(python, "-c", started, str(script), self.program)
                self.assertEqual(result.returncode, 0, f"{name}: {result.stdout}{result.stderr}")
        command = os.path.join(os.path.dirname(python), "binade")
        words = ("show", "0.1", "--format", "e4m3")
        ours, theirs = run(command, *words), run(self.program, *words)
        self.assertEqual((ours.returncode, ours.stdout, ours.stderr), (0, theirs.stdout, ""))
        # Trains on the digits that were installed with the package.
        ours = run(python, "-m", "binade", "train", "workload=digits_mlp", "steps=2")
        self.assertEqual(ours.returncode, 0, ours.stderr)


if __name__ == "__main__":
    main()
