# SPDX-License-Identifier: Apache-2.0
#
# Build step: puts the style sheet and the scripts into page.html, cuts it where the data goes, and
# writes the two halves as C++ strings.   embed.py OUTPUT.cpp page.html page.css SCRIPT.js...
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
        sys.exit(f"page.html must hold {placeholder} exactly once")
    return page.replace(placeholder, text)


output, html, css, *scripts = (Path(argument) for argument in sys.argv[1:])
page = html.read_text(encoding="utf-8")
page = put(page, "/*BINADE_CSS*/", css.read_text(encoding="utf-8"))
page = put(page, "/*BINADE_JS*/", "\n".join(s.read_text(encoding="utf-8") for s in scripts))
before, after = put(page, "/*BINADE_DATA*/", "\0").split("\0")
output.write_text(
    "#include <string_view>\n\nnamespace binade {\n\n"
    f"extern const std::string_view page_before_data =\n{literal(before)};\n"
    f"extern const std::string_view page_after_data =\n{literal(after)};\n\n"
    "}  // namespace binade\n",
    encoding="utf-8")
