# SPDX-License-Identifier: Apache-2.0
#
# Tests tests/summary.py, which decides whether a run of the tests was good, on logs of good and bad runs.

import json
import pathlib
import subprocess
import sys
import tempfile

from sources import ROOT

# Results of the tests → Meson's exit status → last line, exit status of the summary.
RUNS = [
    (["OK", "OK", "SKIP"], 0, "2 passed, 0 failed, 1 skipped", 0),
    (["OK", "EXPECTEDFAIL"], 0, "2 passed, 0 failed, 0 skipped", 0),
    (["OK", "FAIL", "TIMEOUT", "ERROR", "UNEXPECTEDPASS"], 4, "1 passed, 4 failed, 0 skipped", 1),
    (["OK", "OK"], 137, "2 passed, 0 failed, 0 skipped", 1),
    (["SKIP"], 0, "0 passed, 0 failed, 1 skipped", 1),
    ([], 0, "0 passed, 0 failed, 0 skipped", 1),
    (None, 1, "0 passed, 0 failed, 0 skipped", 1),
]


def run_summary(results, meson_status):
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "testlog.json"
        if results is not None:
            log.write_text("".join(json.dumps({
                "name": f"binade:unit / test {number}", "result": result, "returncode": 0, "command": ["test"],
                "stdout": f"first line\nthe reason is {number}\n"}) + "\n" for number, result in enumerate(results)))
        return subprocess.run([sys.executable, ROOT / "tests/summary.py", log, str(meson_status)],
                              capture_output=True, text=True, check=False)


def main():
    wrong = 0
    for results, meson_status, last_line, status in RUNS:
        run = run_summary(results, meson_status)
        lines = run.stdout.splitlines()
        reasons = all(f"test {number}: the reason is {number}" in run.stdout
                      for number, result in enumerate(results or []) if result == "SKIP")
        if (lines[-1:], run.returncode, reasons) != ([last_line], status, True):
            wrong += 1
            print(f"{results}, Meson's status {meson_status}: wanted {last_line!r} and {status}, got {run.returncode}:")
            print(run.stdout, run.stderr)
    print(f"{len(RUNS)} runs, {wrong} summed up wrongly")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
