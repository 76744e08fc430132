# SPDX-License-Identifier: Apache-2.0
#
# The names in the program's tables, for tests that have a case for each.

import json
import subprocess


def tables_of(program):
    """What print_tables prints: a dict of lists, by the name of the table."""
    return json.loads(subprocess.run([program], capture_output=True, check=True, text=True).stdout)
