# SPDX-License-Identifier: Apache-2.0
#
# The manual page as groff renders it: every command, option and sentence of every --help is on it, and groff finds nothing
# to warn of. Run as man_page_cli_test.py PATH_TO_BINADE MADE_COMPLETIONS; exits with 77 where there is no groff.

import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from cli_case import CliCase, main

ODD = """of $HOME $(touch canary) `touch canary` "q" 'a' [b] c:d \\e %f !g & h | i < j > k * ~ ^"""


COLUMN = 30
OPTIONS = re.compile(r"Positionals:\n|[^\n]*:(\n(  -| {30}).*)+\Z")  # a block of --help with options

NOTES = re.compile(r"(Excludes|Needs):( --[\w-]+)+\Z| - \d+\](=\S+)?( \.\.\.)?\Z")  # ends of lines without a text


def plain(text):
    """The text in one line, without the marks of code and without breaks of long commands."""
    return " ".join(re.sub(r" \\\n", " ", text).replace("`", "").split())


def option_rows(block):
    """[names and notes, text] of each option of a block of --help, where texts stand from the same column on."""
    rows = []
    for line in block.splitlines()[1:]:
        if line.startswith(" " * COLUMN):
            rows[-1][1] += " " + line.strip()
        elif line[COLUMN - 1:COLUMN] == " " and not NOTES.search(line):
            rows.append([line[:COLUMN].strip(), line[COLUMN:]])
        else:
            rows.append([line.strip(), ""])
    return rows


class ManPage(CliCase):
    made = ""

    def groff(self, page, *arguments):
        """What groff makes of a page; it must have nothing to say."""
        result = subprocess.run(["groff", "-man", "-ww", *arguments], input=page.encode("ascii"), cwd=self.folder.name,
                                capture_output=True, check=True)
        self.assertEqual(result.stderr.decode(), "")
        return result.stdout.decode(errors="replace")

    def rendered(self, page):
        """The page as text, with lines so long that only its own breaks remain."""
        return self.groff(page, "-Tutf8", "-rLL=1900n", "-P-c", "-P-b", "-P-u", "-P-o")

    def sections(self):
        """Name of a section or of a command → its text."""
        page = self.rendered(self.good("completion", "man"))
        heads = re.split(r"^ {0,3}(\S.*)$", page, flags=re.MULTILINE)
        return dict(zip(heads[1::2], heads[2::2]))

    def test_groff_has_no_warning(self):
        page = self.good("completion", "man")
        for arguments in (("-z",), ("-z", "-Tutf8"), ("-z", "-Tutf8", "-rLL=60n")):
            self.groff(page, *arguments)

    def test_lines_that_are_filled_fit_a_terminal(self):
        text = self.groff(self.good("completion", "man"), "-Tutf8", "-rLL=80n", "-P-c", "-P-b", "-P-u", "-P-o")
        long = [line for line in text.splitlines() if len(line) > 80]
        self.assertLess(len(long), 4, "\n".join(long))

    def test_the_page_has_its_sections(self):
        found = self.sections()
        wanted = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS", "EXIT STATUS", "ENVIRONMENT", "EXAMPLES",
                  "SEE ALSO"]
        self.assertEqual([name for name in found if name.isupper()], wanted)
        self.assertRegex(plain(found["NAME"]), r"^binade - tells what becomes of numbers [^.]+$")
        for name in ("BINADE_THREADS", "BINADE_ISA", "BINADE_DATA", "NO_COLOR"):
            self.assertIn(name, found["ENVIRONMENT"])
        self.assertEqual(re.findall(r"^ +(\d+) ", found["EXIT STATUS"], re.MULTILINE), ["0", "1", "2", "77"])
        self.assertGreater(found["EXAMPLES"].count(" binade "), 5)

    def test_every_text_of_every_help_is_there(self):
        found = self.sections()
        options = 0
        for words, text in self.commands():
            if not words:
                for word, summary in re.findall(r"^  ([a-z]+) {2,}(.*)$", text.partition("Subcommands:")[2], re.MULTILINE):
                    self.assertIn(f"{word} {plain(summary)}", plain(found["DESCRIPTION"]))
                continue
            name = " ".join(("binade", *words))
            with self.subTest(name):
                section = plain(found[name])
                about, _, rest = text.partition("\n\nUsage: ")
                usage, _, rest = rest.partition("\n")
                self.assertTrue(section.startswith(plain(f"{usage} {about}")), section[:300])
                blocks = [block for block in re.split(r"\n{2,}", rest.strip("\n")) if block]
                while blocks and (OPTIONS.match(blocks[0]) or blocks[0].startswith("Subcommands:")):
                    block = blocks.pop(0)
                    if not block.startswith("Subcommands:"):
                        options += self.check_options(block, section)
                self.assertIn(plain("\n".join(blocks)), section)
        self.assertGreater(options, 250)

    def check_options(self, block, section):
        """Each option of the block is in the section, with all that the block says of it; returns how many there are."""
        rows = option_rows(block)
        for names, text in rows:
            if "--help" in names:
                continue
            tag, _, notes = names.partition(" ")
            tag = re.sub(r"\{.*", "", tag).replace(",", ", ")
            at = section.find(plain(text))
            self.assertGreater(at, 0, (names, text))
            before, behind = section[:at].rstrip(), section[at + len(plain(text)):]
            self.assertIn(tag, before[-len(names) - 20:])
            self.assertNotRegex(notes, " x [^2]")
            kind = re.match(r"[A-Z]+\b", notes)
            if kind and names.startswith("-"):
                times = 2 if " x 2" in notes else 1
                self.assertTrue(before.removesuffix(" ...").endswith(f"{tag} {' '.join([kind[0]] * times)}"), before[-80:])
            facts = re.match(r" \[(.*?)\](?: |$)", behind)
            for mark, fact in ((r"\bREQUIRED\b", "required"), (r"=(\S+)", r"default: \1"), (r"\bNeeds: (\S+)", r"needs \1"),
                               (r"\bExcludes: (\S+)", r"not with \1"), (r":\{(.*?)\}", "one of "), (":POSITIVE", "above 0"),
                               (r" in \[(\S+) - ", r"\1 to ")):
                said = re.search(mark, notes)
                if said:
                    self.assertIn(said.expand(fact), facts[1] if facts else "", names)
        return len(rows)

    def test_no_text_is_read_as_roff(self):
        page = subprocess.run([self.made, "man"], capture_output=True, check=True).stdout.decode("ascii")
        self.groff(page, "-z")
        text = " ".join(self.rendered(page).split())
        self.assertEqual(text.count(" ".join(ODD.split("`")[0].split())), 9)
        self.assertEqual(text.count("""[b] c:d \\e %f !g & h | i < j > k * ~ ^"""), 9)
        for start in (".TH of", "'br .br of", ".br of", "x of"):
            self.assertIn(start, text)
        self.assertEqual(self.files(), [])


if __name__ == "__main__":
    ManPage.made = os.path.abspath(sys.argv.pop(2))
    if shutil.which("groff") is None:
        print("SKIP: groff is not installed")
        sys.exit(77)
    main()
