# SPDX-License-Identifier: Apache-2.0
"""Runs the program `binade` as `python -m binade` and as the script of the package."""
import signal
import sys


def main():
    from . import _binade

    for of_programs in (signal.SIGINT, signal.SIGPIPE):  # `binade … | head` ends without a word
        signal.signal(of_programs, signal.SIG_DFL)
    sys.exit(_binade.main(sys.argv[1:]))


if __name__ == "__main__":
    main()
