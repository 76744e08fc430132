# SPDX-License-Identifier: Apache-2.0
#
# Runs a Python script with the interpreter that BINADE_TEST_PYTHON names (the one with the packages of
# tests/requirements.txt), else with this one.   with_test_python.py SCRIPT [ARGUMENT...]
import os
import sys

python = os.environ.get("BINADE_TEST_PYTHON") or sys.executable
os.execv(python, [python, *sys.argv[1:]])
