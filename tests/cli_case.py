# SPDX-License-Identifier: Apache-2.0
"""The program as tests of its command line run it: in a folder of its own, without the caller's
environment deciding, judged by status, output and the one line of its Error."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

# Variables of the environment that change what the program does or prints.
DECIDING = ("BINADE_THREADS", "BINADE_ISA", "BINADE_DATA", "BINADE_TEXT", "BINADE_FASHION_MNIST", "NO_COLOR", "TERM")

# Characters that must not reach a terminal: C0, C1, and the marks that reorder, break or hide text.
UNSHOWN = "\0-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"


def environment(**variables):
    """The caller's environment without the variables that decide, and with the given ones."""
    return {key: value for key, value in os.environ.items() if key not in DECIDING} | variables


def refuse(constant):
    raise ValueError(f"{constant} is not JSON")


def object_of(pairs):
    """A dictionary of the pairs, in which no key stands twice."""
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError(f"a key is there twice: {[key for key, _ in pairs]}")
    return out


def read_json(text, **how):
    """What a JSON text holds. Raises ValueError on NaN, Infinity and repeated keys, which Python's reader lets through."""
    return json.loads(text, parse_constant=refuse, object_pairs_hook=object_of, **how)


class CliCase(unittest.TestCase):
    maxDiff = None
    program = "binade"
    command = ()  # words before every call's own

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="binade-test-")
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def read_json(self, name):
        return read_json(self.read(name))

    def files(self):
        return sorted(os.listdir(self.folder.name))

    def run_binade(self, *arguments, stdin=None, command=None, **variables):
        """The finished program; the command, where it is given, in place of the class's."""
        given = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin}  # piped in, or a file
        words = (*(self.command if command is None else command), *map(str, arguments))
        return subprocess.run([self.program, *words], cwd=self.folder.name, env=environment(**variables),
                              capture_output=True, check=False, timeout=300, **given)

    def good(self, *arguments, status=0, **variables):
        """The text of a run that must exit with the status and be silent on stderr."""
        result = self.run_binade(*arguments, **variables)
        self.assertEqual((result.returncode, result.stderr), (status, b""), arguments)
        return result.stdout.decode()

    def json(self, *arguments, **variables):
        """What a run with --json prints."""
        return read_json(self.good(*arguments, "--json", **variables))

    def no_gpu(self, *arguments):
        """A run with --device that sees no GPU says why in one line, exits with 77 and writes nothing."""
        before = self.files()
        result = self.run_binade(*arguments, "--device", CUDA_VISIBLE_DEVICES="")
        self.assertEqual((result.returncode, result.stderr), (77, b""), arguments)
        self.assertRegex(result.stdout.decode(), r"\Ano GPU: [^\n]+\n\Z")
        self.assertEqual(self.files(), before, "something was written")

    def commands(self, *words):
        """Every command and command of a command, with its help."""
        text = self.good(*words, "--help")
        yield words, text
        for line in text.partition("Subcommands:\n")[2].partition("\n\n")[0].splitlines():
            if line[2:3].strip():
                yield from self.commands(*words, line.split()[0])

    def complaint(self, *arguments, **variables):
        """The one line on stderr of a run that must fail with status 2 and print nothing else."""
        before = self.files()
        result = self.run_binade(*arguments, **variables)
        line = result.stderr.decode()
        self.assertEqual(result.returncode, 2, (arguments, line))
        self.assertEqual(result.stdout, b"", arguments)
        self.assertRegex(line, rf"\Abinade: [^\n{UNSHOWN}]+\n\Z", arguments)
        self.assertNotIn("should not happen", line, arguments)
        self.assertEqual(self.files(), before, "something half written was left")
        return line

    def complaints(self, table, *words):
        """Each key of the table, after these words, is complained of in words that fit its value."""
        for arguments, expected in table.items():
            with self.subTest(arguments):
                self.assertRegex(self.complaint(*words, *arguments), expected)


def main():
    """Runs the tests of the file that was started as FILE PATH_TO_BINADE."""
    CliCase.program = os.path.abspath(sys.argv.pop(1))
    unittest.main()
