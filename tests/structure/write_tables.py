# SPDX-License-Identifier: Apache-2.0
#
# Lists in files that no compiler reads are written from the program's tables:   write_tables.py PRINT_TABLES [--update]
# PRINT_TABLES (print_tables.cpp) prints the names of every table, or its rows as objects. A list stands
#
#   in Markdown  between <!-- table NAME FORM --> and <!-- end -->
#   in JSON      as "enum" behind "$comment": "table NAME"; what stands in NAME's place may add to the names: "table NAME, null"
#                or as "required" and "properties" behind "$comment": "properties NAME", if the rows are objects with the members
#                name, required and schema
#
# where FORM is one of FORMS. Without --update the script complains of each list that is not what its table says, which is the
# test of the suite structure; ./dev tables brings all of them up to date.

import json
import re
import sys

from sources import ROOT, all_files, text_of

sys.path.insert(0, str(ROOT / "tests"))
from tables import tables_of  # noqa: E402

NUMBERS = "no one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen " \
          "eighteen nineteen twenty".split()


def rows(objects):
    """A table in Markdown, on lines of its own: the keys of the objects are the heads of its columns."""
    lines = [list(objects[0]), ["---"] * len(objects[0]), *([cell.replace("|", "\\|") for cell in row.values()] for row in objects)]
    return "\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines).replace("| --- ", "|---").replace("--- |", "---|")


def and_last(words):
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


FORMS = {
    "names": ", ".join,
    "and": and_last,
    "code": lambda names: ", ".join(f"`{name}`" for name in names),
    "grouped": lambda names: f"{int(names[0]):,}".replace(",", " "),
    "rows": rows,
    "interval": lambda names: f"{names[0]} to {names[-1]}",
    "number": lambda names: NUMBERS[len(names)] if len(names) < len(NUMBERS) else str(len(names)),
}
MARKDOWN = re.compile(r"(<!-- table (\w+) (\w+) -->)(.*?)(<!-- end -->)", re.DOTALL)
PROPERTIES = re.compile(r'(\n *)  ("\$comment": "properties (\w+)")(.*?)(?=\1\})', re.DOTALL)
JSON = re.compile(r'("\$comment": "table (\w+)(, null)?", "enum": )(\[[^\]]*\])')


def written(path, text, tables):
    """The text with every list as its table says, and a complaint for each list that no table or form makes."""
    complaints = []

    def table(name):
        if name not in tables:
            complaints.append(f"{path}: there is no table {name}; print_tables.cpp prints {', '.join(tables)}")
        return tables.get(name)

    def markdown(match):
        head, name, form, _, end = match.groups()
        if form not in FORMS:
            complaints.append(f"{path}: there is no form {form}; choose of {', '.join(FORMS)}")
            return match.group(0)
        found = table(name)
        return head + FORMS[form](found) + end if found else match.group(0)

    def enum(match):
        head, name, null, _ = match.groups()
        found = table(name)
        return head + json.dumps(found + ([None] if null else [])) if found else match.group(0)

    def properties(match):
        end, head, name, _ = match.groups()
        found = table(name)
        if not found:
            return match.group(0)
        line = end + "  "
        required = json.dumps([row["name"] for row in found if row["required"]])
        members = ",".join(f'{line}  "{row["name"]}": {json.dumps(row["schema"], ensure_ascii=False)}' for row in found)
        return f'{line}{head},{line}"required": {required},{line}"properties": {{{members}{line}}}'

    text = MARKDOWN.sub(markdown, text) if path.endswith(".md") else PROPERTIES.sub(properties, JSON.sub(enum, text))
    return text, complaints


def main():
    program, update = sys.argv[1], "--update" in sys.argv[2:]
    tables = tables_of(program)
    complaints, lists = [], 0
    for path in map(str, all_files()):
        if not path.endswith((".md", ".json")) or path.startswith("tests/recordings/"):
            continue
        text = text_of(path) or ""
        right, wrong = written(path, text, tables)
        lists += sum(len(pattern.findall(text)) for pattern in (MARKDOWN, JSON, PROPERTIES))
        complaints += wrong
        if right != text:
            if update:
                (ROOT / path).write_text(right, encoding="utf-8")
                print(f"{path}: written")
            else:
                complaints.append(f"{path}: a list is not what its table says; ./dev tables writes it")
    if lists == 0:
        complaints.append("no list was found")
    print(*complaints, sep="\n")
    print(f"{lists} lists of {len(tables)} tables")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
