# SPDX-License-Identifier: Apache-2.0
#
# The project's READMEs and the blocks of code in them, for the tests that run what they show.

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "structure"))
import sources  # noqa: E402

ROOT = sources.ROOT


def block_of(language):
    """A pattern whose one group is the text between ```language and ```."""
    return re.compile(rf"^```{language}\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def readmes_with(language):
    """The text of every README.md that has such a block, by its path from the project's root."""
    texts = {str(path): sources.text_of(path) for path in sources.all_files() if path.name == "README.md"}
    return {path: text for path, text in texts.items() if block_of(language).search(text)}
