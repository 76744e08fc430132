# SPDX-License-Identifier: Apache-2.0
#
# Reads Meson's testlog.json (one JSON object for each test) and prints the ends of the failing tests' logs, the reason of each
# skipped test (its last line of output), and at the end `N passed, N failed, N skipped`. The exit status is 1 if a test
# failed, and also if none passed or if Meson itself broke off (its exit status is the second argument), because a run that
# compared nothing, or not everything, proves nothing.

import json
import pathlib
import sys

LOG_LINES = 60
PASSED = {"OK", "EXPECTEDFAIL"}
SKIPPED = {"SKIP"}


def output_lines(test):
    text = test.get("stdout", "") + "\n" + test.get("stderr", "")
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def main(log, meson_status):
    path = pathlib.Path(log)
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []
    tests = [json.loads(line) for line in lines]
    passed = [test for test in tests if test["result"] in PASSED]
    skipped = [test for test in tests if test["result"] in SKIPPED]
    failed = [test for test in tests if test["result"] not in PASSED | SKIPPED]

    print()
    for test in skipped:
        reason = (output_lines(test) or ["it does not say why"])[-1]
        print(f"skipped: {test['name']}: {reason}")
    for test in failed:
        print(f"\nfailed: {test['name']} ({test['result']}, exit status {test.get('returncode')})")
        print("  " + " ".join(test.get("command", [])))
        for line in output_lines(test)[-LOG_LINES:]:
            print("  | " + line)
    if not tests:
        print("No test ran: is there a suite of that name? `meson test -C build --list` knows.")
    if tests and not passed and not failed:
        print("No test could run, each for the reason above: nothing was shown.")
    broke_off = meson_status != 0 and not failed
    if broke_off:
        print(f"meson test broke off with exit status {meson_status}: not every test ran.")
    print(f"{len(passed)} passed, {len(failed)} failed, {len(skipped)} skipped")
    return 1 if failed or not passed or broke_off else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
