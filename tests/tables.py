# SPDX-License-Identifier: Apache-2.0
#
# The program's tables, for tests that have a case for each row.

import json
import subprocess


def tables_of(program):
    """What print_tables prints: a dict of lists of names, or of rows as dicts, by the name of the table."""
    return json.loads(subprocess.run([program], capture_output=True, check=True, text=True).stdout)
