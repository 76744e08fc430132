# SPDX-License-Identifier: Apache-2.0
#
# Runs rows of the benchmarks whose data set is not where it is said to be: each says why it failed, the rows beside them are
# measured, the JSON is whole, and the exit status is 1. Where the data set is not installed, they are skipped.
#    registered_test.py BINADE_BENCH
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = Path(sys.argv[1]).resolve()
ROWS = "functions/exp|train/fashion_cnn/(tf32|e4m3)/"
INSTALLED = Path("/usr/share/datasets/fashion-mnist")


def expect(true, *words):
    if not true:
        sys.exit("\n".join(map(str, words)))


def run(folder, fashion_mnist, status, reason):
    """Runs the rows, and finds the reason in each that trains."""
    file = Path(folder, "rows.json")
    environment = os.environ | {"BINADE_FASHION_MNIST": fashion_mnist}
    run = subprocess.run([PROGRAM, f"--benchmark_filter={ROWS}", "--benchmark_min_time=1e-9", f"--benchmark_out={file}",
                          "--benchmark_out_format=json"], env=environment, capture_output=True, text=True)
    told = run.stdout + run.stderr
    expect(run.returncode == status, f"the exit status is {run.returncode} and not {status}", told)
    measured, *skipped = json.loads(file.read_text())["benchmarks"]
    expect(measured["name"] == "functions/exp" and measured["ns/call"] > 0, measured)
    expect(len(skipped) == 2, f"{len(skipped)} rows that train are in the JSON, of 2", skipped)
    for row in skipped:
        expect(reason in row["error_message"], row)
    expect(told.count(reason) == 2, "the console has not the reason of both", told)


def main():
    with tempfile.TemporaryDirectory() as folder:
        run(folder, folder + "/nowhere", 1, "nowhere/train-images-idx3-ubyte.gz: no such file; apt-get install dataset-fashion-mnist")
        if not INSTALLED.is_dir():
            run(folder, "", 0, "Fashion-MNIST is not here (apt-get install dataset-fashion-mnist)")


main()
