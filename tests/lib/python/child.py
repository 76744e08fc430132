# SPDX-License-Identifier: Apache-2.0
"""A Python of its own, for what ends or stops an interpreter."""

import os
import subprocess
import sys
import textwrap


def child(source, timeout=60, **options):
    """Runs the source in a new interpreter with two threads; its exit status and what it printed."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(source)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=timeout, env=os.environ | {"BINADE_THREADS": "2"} | options)
    return done.returncode, done.stdout.decode()
