# SPDX-License-Identifier: Apache-2.0
#
# Build step: puts a page, its style sheets and its scripts into the frame, cuts the whole where the data goes, and
# writes the two halves as C++ text named after the output.
#     embed.py NAME.cpp frame.html page.html STYLE.css... SCRIPT.js...   (each kind in its order)
import re
import sys
from pathlib import Path


def array(name, text):
    """A C++ array of the text's bytes, a line for a line: string literals may end at 65 536 characters."""
    lines = ["".join(f"'\\x{byte:02x}'," for byte in line) for line in text.encode().splitlines(keepends=True)]
    return f"constexpr char {name}[] = {{\n" + "\n".join(lines) + "};\n"


def put(page, placeholder, text):
    """The page with the text in place of the placeholder, which occurs once."""
    if page.count(placeholder) != 1:
        sys.exit(f"{body} in {frame} must hold {placeholder} exactly once")
    return page.replace(placeholder, text)


COMMENT = {".css": r"/\*.*?\*/\n*", ".js": r"(?<=\n)//.*\n"}


def joined(paths, suffix):
    """The files of one kind, without the comments that begin a line (in style sheets, without any)."""
    texts = ("\n" + path.read_text(encoding="utf-8") for path in paths if path.suffix == suffix)
    return "".join(re.sub(COMMENT[suffix], "", text, flags=re.DOTALL if suffix == ".css" else 0).lstrip() for text in texts)


output, *parts = (Path(argument) for argument in sys.argv[1:])
frame, body = (path for path in parts if path.suffix == ".html")
own = re.fullmatch(r".*?<title>(?P<TITLE>.*?)</title>\n(?P<BODY>.*)\n<footer>(?P<FOOTER>.*?)</footer>\n",
                   body.read_text(encoding="utf-8"), re.DOTALL)
if not own:
    sys.exit(f"{body} must hold <title>, the body's elements and <footer>, in this order")
page = frame.read_text(encoding="utf-8")
for placeholder, text in {**own.groupdict(), "CSS": joined(parts, ".css"), "JS": joined(parts, ".js")}.items():
    page = put(page, f"/*BINADE_{placeholder}*/", text)
before, after = put(page, "/*BINADE_DATA*/", "\0").split("\0")
output.write_text(
    "#include <string_view>\n\nnamespace binade {\nnamespace {\n\n"
    f"{array('begin_of_page', before)}\n{array('end_of_page', after)}\n"
    "}  // namespace\n\n"
    f"extern const std::string_view {output.stem}_before_data(begin_of_page, sizeof begin_of_page);\n"
    f"extern const std::string_view {output.stem}_after_data(end_of_page, sizeof end_of_page);\n\n"
    "}  // namespace binade\n",
    encoding="utf-8")
