# SPDX-License-Identifier: Apache-2.0
"""One quick run of an experiment, for tests that hold its figures to arithmetic of their own."""

import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cli_case import environment


def quick_run(program, name, threads):
    """The bytes of its JSON. Raises AssertionError if it does not end as expected."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.json")
        done = subprocess.run([program, "experiment", "run", name, "--quick", "--json", out], capture_output=True,
                              text=True, check=False, env=environment(BINADE_THREADS=str(threads)))
        if done.returncode != 0:
            raise AssertionError(f"{name} exits with {done.returncode}:\n{done.stdout}{done.stderr}")
        with open(out, "rb") as file:
            return file.read()
