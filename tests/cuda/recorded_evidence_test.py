# SPDX-License-Identifier: Apache-2.0
#
# A conversion that the table calls known from hardware has its recording. Arguments: the program that prints the table, a
# file beside the folder of recordings.
import subprocess
import sys
from pathlib import Path


def main(cvt_names, recordings):
    told = [line.split() for line in subprocess.run([cvt_names], text=True, capture_output=True,
                                                    check=True).stdout.splitlines()]
    claimed = [name for name, _, _, evidence in told if evidence == "hardware"]
    missing = [name for name in claimed if not (Path(recordings).with_name("scalar") / (name + ".safetensors")).is_file()]
    print(f"{len(claimed)} of {len(told)} conversions are said to be known from hardware, {len(missing)} without a recording",
          *missing, sep="\n")
    return 1 if missing or len(claimed) < 100 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
