# SPDX-License-Identifier: Apache-2.0
#
# Runs the tests of the module and the notebooks that use torch with the newest torch of PyPI: some gigabytes, kept in an
# environment beside the build. Skipped if PyPI cannot be reached. Run as torch_latest_test.py PATH_TO_BINADE FOLDER TEST...

import os
import pathlib
import subprocess
import sys
import unittest

PROGRAM, FOLDER, *NAMES = sys.argv[1:]
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
NOTEBOOKS = ("04_your_own_model", "05_other_peoples_gpus")


def run(*words, **also):
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=3600, **also)


def environment_python():
    """The interpreter of the environment, with the newest torch and the packages of the tests."""
    python = os.path.join(FOLDER, "bin", "python")
    if not os.path.exists(python):
        made = run(sys.executable, "-m", "venv", FOLDER)
        if made.returncode != 0:
            raise unittest.SkipTest("this Python makes no virtual environments: " + made.stdout.strip()[-200:])
    packages = ["torch", "torchao", "-r", str(ROOT / "tests/requirements.txt")]
    got = run(python, "-m", "pip", "install", "--quiet", "--upgrade", "--retries", "1", *packages)
    if got.returncode != 0:
        raise unittest.SkipTest(f"pip cannot have torch: {got.stderr.strip()[-300:]}")
    return python


class TorchLatest(unittest.TestCase):
    def test_all(self):
        python = environment_python()
        size = sum(file.lstat().st_size for file in pathlib.Path(FOLDER).rglob("*") if file.is_file())
        version = run(python, "-c", "import torch; print(torch.__version__)")
        self.assertEqual(version.returncode, 0, version.stderr)
        print(f"torch {version.stdout.strip()}, {size / 1e9:.1f} GB", flush=True)
        for name in NAMES:
            with self.subTest(name):
                got = run(python, str(HERE / "with_module.py"), str(HERE / f"{name}_test.py"), PROGRAM)
                print(f"{name}: {got.stderr.strip().splitlines()[-3:]}", flush=True)
                self.assertEqual(got.returncode, 0, got.stdout[-5000:] + got.stderr[-10000:])
        with self.subTest("trainings, whole"):
            got = run(python, str(HERE / "with_module.py"), str(HERE / "tensor_cores_training_test.py"), PROGRAM, "--whole")
            print(f"trainings, whole: {got.stderr.strip().splitlines()[-3:]}", flush=True)
            self.assertEqual(got.returncode, 0, got.stdout[-5000:] + got.stderr[-10000:])
        for notebook in NOTEBOOKS:
            with self.subTest(notebook):
                environment = {key: value for key, value in os.environ.items() if key != "BINADE_TEST_PYTHON"}
                module = os.path.join(os.path.dirname(os.path.abspath(PROGRAM)), "lib", "python")
                got = run(python, str(ROOT / "notebooks/run_notebook.py"), module, "--only", notebook, env=environment)
                print(got.stdout.strip(), flush=True)
                self.assertEqual(got.returncode, 0, got.stdout[-5000:] + got.stderr[-10000:])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
