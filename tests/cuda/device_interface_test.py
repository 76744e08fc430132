# SPDX-License-Identifier: Apache-2.0
#
# The fingerprint of the interface changes with every header that objects crossing it are made of and with the emulator
# that both sides have, and with no other file; a type that is declared and defined nowhere among them is an error.
# Arguments: the script, the project's root.
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT, ROOT = sys.argv[1:]
HEADER = "lib/device/device_module.h"


def fingerprint(root, folder):
    """What the script writes: the text, and the headers that its depfile names."""
    output, depfile = Path(folder, "out.cpp"), Path(folder, "out.d")
    done = subprocess.run([sys.executable, SCRIPT, output, depfile, root, HEADER], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr, []
    target, _, headers = depfile.read_text().partition(": ")
    assert target == str(output), target
    return re.search(r'"([0-9a-f]{32}), compiler ', output.read_text())[1], [str(Path(folder, x)) for x in headers.split()]


def main():
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root")
        for room in ("lib", "emulate"):
            shutil.copytree(Path(ROOT, room), root / room)
        before, headers = fingerprint(root, folder)
        for wanted in (HEADER, "lib/device/device.h", "lib/device/kernel_check.h", "lib/text/error.h",
                       "emulate/format.h", "emulate/tensor_core.h", "emulate/fast/dot_blocks.h", "emulate/fast/tile_sums.h", "emulate/range_count.h",
                       "lib/device/matrix_product.h", "lib/device/scalar_tally.h"):
            assert str(root / wanted) in headers, f"{wanted} is not among {headers}"
        for header in headers:
            text = Path(header).read_text()
            Path(header).write_text(text + "\n")
            assert fingerprint(root, folder)[0] != before, f"{header} changed and the fingerprint did not"
            Path(header).write_text(text)
        (root / "lib/device/row_plan.h").write_text("")
        assert fingerprint(root, folder)[0] == before, "row_plan.h does not cross and changed the fingerprint"
        module = root / HEADER
        module.write_text(module.read_text().replace('#include "lib/cases/dots.h"\n', ""))
        says = fingerprint(root, folder)[0]
        assert says == f"{HEADER} must include the headers that define Dots\n", says
    print(f"{len(headers)} headers")


main()
