# SPDX-License-Identifier: Apache-2.0
"""The program `binade`, and `python -m binade`."""
import signal
import sys


def main():
    from . import _binade

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_binade.main(sys.argv[1:]))


if __name__ == "__main__":
    main()
