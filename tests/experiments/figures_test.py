# SPDX-License-Identifier: Apache-2.0
#
# Every experiment runs, and every figure of its hypothesis is one that was measured and holds. A verdict on trainings of one seed
# names it, as the hypothesis does.
# Run as figures_test.py PATH_TO_BINADE [--whole]; the quick form without --whole. Needs Python only.

import json
import os
import subprocess
import sys
import tempfile

BINADE, WHOLE = os.path.abspath(sys.argv[1]), sys.argv[2:] == ["--whole"]
NEEDS_DATA = {"transformer", "nan_by_adamw"}  # figures that are left out where the system has no texts


def main():
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.json")
        words = [] if WHOLE else ["--quick"]
        done = subprocess.run([BINADE, "experiment", "run", "--all", *words, "--json", out], capture_output=True,
                              text=True, check=False)
        with open(out, encoding="utf-8") as file:
            results = json.load(file)["results"]
    listed = subprocess.run([BINADE, "experiment", "list"], capture_output=True, text=True, check=True).stdout
    names = [line for line in listed.splitlines() if line and line[0] != " "]
    assert [r["experiment"] for r in results] == names, names
    figures = 0
    for result in results:
        assert result["status"] == "as_expected", (result["experiment"], result["status"], result["verdict"])
        assert result["figures"], result["experiment"]
        one_seed = "seed 0" in result["hypothesis"]
        assert one_seed == ("seed 0" in result["verdict"]), (result["experiment"], result["verdict"])
        for figure in result["figures"]:
            what = (result["experiment"], figure)
            assert figure["stated"] in result["hypothesis"], what
            assert figure["holds"] is True or figure["measured"] is None and figure["key"] in NEEDS_DATA, what
            figures += 1
    assert done.returncode == 0, done.stdout + done.stderr
    print(f"{len(results)} experiments, {figures} figures")


main()
