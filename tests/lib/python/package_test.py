# SPDX-License-Identifier: Apache-2.0
#
# The package itself: the time and the modules that importing it costs, its names, the program that `python -m binade` runs, and
# subinterpreters. Run as package_test.py PATH_TO_BINADE.

import inspect
import os
import pydoc
import signal
import statistics
import subprocess
import sys

import binade
from cli_case import CliCase, main

# A fresh interpreter that finds this very package, wherever it is installed.
FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(binade.__file__)))
OTHERS = ("numpy", "torch", "pandas", "jax", "ml_dtypes")

# Another interpreter in the same process imports the package, or is told in a line why it cannot.
SUBINTERPRETER = """
import sys
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
import binade
one = interpreters.create()
asked = '''
try:
    import binade
    print("imported", binade.__version__)
except ImportError as error:
    print("refused:", error)
'''
try:
    failure = interpreters.run_string(one, asked)
finally:
    sys.stdout.flush()
    interpreters.destroy(one)
assert failure is None, failure
print("after", binade.Format("e4m3").max)
"""


def python(*arguments, interpreter=sys.executable, folder=FOLDER):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment["PYTHONPATH"] = folder
    return subprocess.run([interpreter, *arguments], env=environment, capture_output=True, check=False, timeout=120)


class Package(CliCase):
    def output(self, *arguments):
        result = python(*arguments)
        self.assertEqual((result.returncode, result.stderr), (0, b""), arguments)
        return result.stdout.decode()

    def test_importing_is_light(self):
        brought = self.output("-c", f"import sys, binade; print(*[x for x in {OTHERS} if x in sys.modules])")
        self.assertEqual(brought.split(), [])
        timed = "import time; t = time.perf_counter(); import binade; print(time.perf_counter() - t)"
        seconds = statistics.median(float(self.output("-c", timed)) for _ in range(5))
        print(f"import binade: {seconds * 1e3:.1f} ms (wanted: 100 ms or less)")

    def test_version_is_the_programs(self):
        self.assertEqual(self.good("--version").split()[-1], binade.__version__)

    def test_every_name_exists_and_is_described(self):
        self.assertEqual(len(set(binade.__all__)), len(binade.__all__))
        for name in binade.__all__:
            self.assertTrue(inspect.getdoc(getattr(binade, name)), name)
        loose = {name for name, value in vars(binade).items()
                 if not name.startswith("_") and not inspect.ismodule(value)} - set(binade.__all__)
        self.assertEqual(loose, set(), "public by their names, and not in __all__")

    def test_help_is_a_table_of_contents(self):
        contents = binade.__doc__.split()
        self.assertEqual([name for name in binade.__all__ if name not in [word.strip(",.()") for word in contents]], [])
        text = pydoc.plain(pydoc.render_doc(binade))
        self.assertEqual([name for name in binade.__all__ if name not in text], [])

    def test_the_program_behind_the_module(self):
        self.write("floats.bin", b"\0\0\x80\x3f" * 10)
        for words in (("show", "0.1", "--format", "e4m3"), ("--version",), ("--help",), ("report", "--help"),
                      ("formats",), ("show", "0.1", "--format", "e4m3", "--json"), ("formats", "--no-such-option"),
                      ("arith", "fma", "3", "5", "1", "--format", "e4m3"), ("no-such-command",), ("show", "0.1"),
                      ("show", "x", "--format", "e4m3"), ("report", "absent.npy"), ("report", "floats.bin"), ()):
            with self.subTest(words):
                theirs = self.run_binade(*words)
                environment = {"PYTHONPATH": FOLDER, "PATH": os.environ.get("PATH", "")}
                ours = subprocess.run([sys.executable, "-m", "binade", *words], cwd=self.folder.name, env=environment,
                                      capture_output=True, check=False, timeout=120)
                self.assertEqual((ours.returncode, ours.stdout, ours.stderr),
                                 (theirs.returncode, theirs.stdout, theirs.stderr))

    def test_standard_input_and_a_closed_pipe(self):
        words = [sys.executable, "-m", "binade", "quantize", "--format", "e4m3", "-", "-o", "-"]
        array = b"\x93NUMPY\x01\x00\x3a\x00{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n\0\0\x80\x3f"
        array = array[:8] + (len(array) - 14).to_bytes(2, "little") + array[10:]
        ours = subprocess.run(words, input=array, env={"PYTHONPATH": FOLDER}, capture_output=True, check=False,
                              timeout=120)
        theirs = self.run_binade(*words[3:], stdin=array)
        self.assertEqual((ours.returncode, ours.stdout, ours.stderr), (theirs.returncode, theirs.stdout, theirs.stderr))

    def test_a_reader_that_has_enough_ends_the_program_without_a_word(self):
        words = [sys.executable, "-c", "import time, sys; sys.argv = ['binade', 'report', '--help']; time.sleep(0.5);"
                                       "from binade.__main__ import main; main()"]
        with subprocess.Popen(words, env={"PYTHONPATH": FOLDER}, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as ours:
            ours.stdout.close()
            self.assertEqual((ours.stderr.read(), ours.wait()), (b"", -signal.SIGPIPE))

    def test_the_committed_data_are_found(self):
        words = ("train", "workload=digits_mlp", "steps=2")
        ours = python("-m", "binade", *words)
        self.assertEqual((ours.returncode, ours.stdout.decode()), (0, self.good(*words)))

    def test_subinterpreters_work_or_are_refused_in_a_line(self):
        result = python("-c", SUBINTERPRETER)
        lines = result.stdout.decode().splitlines()
        if b"No module named '_interpreters'" in result.stderr:
            self.skipTest("this Python has no interpreters inside the interpreter")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertEqual(len(lines), 2, lines)
        self.assertRegex(lines[0], r"\A(imported|refused:) ")
        self.assertEqual(lines[1], "after 448.0")

    def test_another_numpy(self):
        """The system's Python has NumPy 1 where .venv has NumPy 2; the same extension serves both."""
        asked = "import numpy, binade; print(numpy.__version__, binade.quantize(numpy.array([0.1], 'f'), 'e4m3')[0])"
        system = "/usr/bin/python3"
        theirs = python("-c", "import sys, numpy; print(sys.version_info[:2])", interpreter=system)
        if theirs.returncode != 0 or theirs.stdout.decode().strip() != str(sys.version_info[:2]):
            self.skipTest(f"{system} is another Python, or has no NumPy")
        result = python("-c", asked, interpreter=system)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertEqual(result.stdout.split()[1], b"0.1015625")
        print("and under NumPy", result.stdout.split()[0].decode())


if __name__ == "__main__":
    main()
