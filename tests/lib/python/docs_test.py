# SPDX-License-Identifier: Apache-2.0
#
# Every example in a docstring of the package and of its extension, run as it stands there, in an empty folder, and every
# example of the READMEs. NumPy 2 writes its scalars with their types and NumPy 1 does not: both are told to write them
# as NumPy 1.25 did.

import doctest
import importlib
import importlib.util
import inspect
import os
import pkgutil
import re
import sys
import tempfile
import unittest

import binade
import numpy as np
import readmes


def is_ours(thing):
    home = getattr(thing.fget if isinstance(thing, property) else thing, "__module__", None)
    return isinstance(home, str) and home.split(".")[0] == "binade"


def documented(thing, name, seen):
    """(name, docstring) of a module or class and of all that is defined in it, once each."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(getattr(thing, "__doc__", None), str):
        yield name, thing.__doc__
    if inspect.ismodule(thing) or inspect.isclass(thing):
        for key, value in vars(thing).items():
            value = getattr(value, "__func__", value)  # class and static methods
            if (callable(value) or isinstance(value, property)) and is_ours(value):
                yield from documented(value, f"{name}.{key}", seen)


def everything():
    seen = set()
    yield from documented(binade, "binade", seen)
    for found in pkgutil.iter_modules(binade.__path__):
        if found.name not in ("__main__", "binade_cuda", "torch"):  # tests/lib/python/watch_findings_test.py runs torch's
            module = importlib.import_module("binade." + found.name)
            yield from documented(module, module.__name__, seen)


def absent(examples):
    """The first module that they import and that is not there."""
    for example in examples:
        for name in re.findall(r"^\s*(?:import|from) (\w+)", example.source, re.MULTILINE):
            if importlib.util.find_spec(name) is None:
                return name
    return None


class Docs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="binade-test-")
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def test_examples(self):
        if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
            np.set_printoptions(legacy="1.25")
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
        known = {name: getattr(binade, name) for name in binade.__all__} | {"binade": binade, "np": np}
        said, names = [], set()
        for name, text in list(everything()):
            names.add(name)
            test = doctest.DocTestParser().get_doctest(text, dict(known), name, None, 0)
            missing = absent(test.examples)
            if missing:
                print(f"{name}: not run, there is no {missing}")
            else:
                runner.run(test, out=said.append)
        print(f"{runner.tries} examples in {len(names)} docstrings")
        self.assertEqual(runner.failures, 0, "\n" + "".join(said))
        self.assertGreater(runner.tries, 10)
        for name in ("binade", "binade.Format", "binade.Format.to_dict", "binade.quantize",
                     "binade._documents.Document.to_json"):
            self.assertIn(name, names, "the walk passes by what it should find")

    def test_the_readmes(self):
        """What stands between ```python and ``` in every README.md, from the repository's root."""
        os.chdir(readmes.ROOT)
        said = []
        runner = doctest.DocTestRunner()
        for path, text in readmes.readmes_with("python").items():
            for number, block in enumerate(readmes.block_of("python").findall(text), 1):
                test = doctest.DocTestParser().get_doctest(block, {}, f"{path}, block {number}", None, 0)
                if missing := absent(test.examples):
                    print(f"{test.name}: SKIP: no module {missing}")  # watch_findings_test.py runs torch's
                else:
                    runner.run(test, out=said.append)
        self.assertEqual(runner.failures, 0, "\n" + "".join(said))
        self.assertGreater(runner.tries, 5)

    def test_functions_have_examples(self):
        """All that a user calls shows how. The program's main() writes past Python's own stdout."""
        without = [name for name in binade.__all__
                   if not inspect.isclass(getattr(binade, name)) and name != "main"
                   and ">>>" not in (getattr(binade, name).__doc__ or "")]
        self.assertEqual(without, [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
