# SPDX-License-Identifier: Apache-2.0
#
# Build step: puts style sheets and scripts into a page, cuts it where the data goes, and writes the two
# halves as C++ text called after the output.   embed.py NAME.cpp page.html STYLE.css... SCRIPT.js...
import sys
from pathlib import Path


def array(name, text):
    """A C++ array of the text's bytes, a line for a line: string literals may end at 65 536 characters."""
    lines = ["".join(f"'\\x{byte:02x}'," for byte in line) for line in text.encode().splitlines(keepends=True)]
    return f"constexpr char {name}[] = {{\n" + "\n".join(lines) + "};\n"


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
    "#include <string_view>\n\nnamespace binade {\nnamespace {\n\n"
    f"{array('begin_of_page', before)}\n{array('end_of_page', after)}\n"
    "}  // namespace\n\n"
    f"extern const std::string_view {output.stem}_before_data(begin_of_page, sizeof begin_of_page);\n"
    f"extern const std::string_view {output.stem}_after_data(end_of_page, sizeof end_of_page);\n\n"
    "}  // namespace binade\n",
    encoding="utf-8")
