# SPDX-License-Identifier: Apache-2.0
#
# Build step: puts style sheets and scripts into a page, cuts it where the data goes, and writes the two
# halves as C++ strings called after the output.   embed.py NAME.cpp page.html STYLE.css... SCRIPT.js...
import sys
from pathlib import Path


def literal(text):
    """A C++ string literal, one source line per line of text."""
    lines = []
    for line in text.splitlines(keepends=True):
        escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("?", "\\?")
        lines.append(f'    "{escaped}"')
    return "\n".join(lines)


def put(page, placeholder, text):
    if page.count(placeholder) != 1:
        sys.exit(f"{html} must hold {placeholder} exactly once")
    return page.replace(placeholder, text)


def joined(paths, suffix):
    return "\n".join(path.read_text(encoding="utf-8") for path in paths if path.suffix == suffix)


output, html, *parts = (Path(argument) for argument in sys.argv[1:])
page = html.read_text(encoding="utf-8")
page = put(page, "/*BINADE_CSS*/", joined(parts, ".css"))
page = put(page, "/*BINADE_JS*/", joined(parts, ".js"))
before, after = put(page, "/*BINADE_DATA*/", "\0").split("\0")
output.write_text(
    "#include <string_view>\n\nnamespace binade {\n\n"
    f"extern const std::string_view {output.stem}_before_data =\n{literal(before)};\n"
    f"extern const std::string_view {output.stem}_after_data =\n{literal(after)};\n\n"
    "}  // namespace binade\n",
    encoding="utf-8")
