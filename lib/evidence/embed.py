# SPDX-License-Identifier: Apache-2.0
#
# Build step: a text file as a std::string_view of C++.   embed.py OUTPUT.cpp NAME FILE
import sys
from pathlib import Path

output, name, source = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
rows = ["".join(f"'\\x{byte:02x}'," for byte in line) for line in source.read_bytes().splitlines(keepends=True)]
output.write_text(
    "#include <string_view>\n\nnamespace binade {\nnamespace {\n\n"
    f"constexpr char {name}_bytes[] = {{\n" + "\n".join(rows) + "};\n\n}  // namespace\n\n"
    f"extern const std::string_view {name};\n"
    f"const std::string_view {name}({name}_bytes, sizeof {name}_bytes);\n\n}}  // namespace binade\n", encoding="utf-8")
