# SPDX-License-Identifier: Apache-2.0
#
# Every link of a Markdown file (each README among them) to another place of the project leads to a file or folder that git
# tracks, and where it names a heading, to a heading of that file.

import posixpath
import re
import sys

from sources import all_files, text_of

CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^()\s]+)\)")
ELSEWHERE = re.compile(r"[a-z]+:")


def headings(text):
    """The anchors of a page's headings, as GitHub spells them."""
    titles = re.findall(r"^#+ +(.*?) *$", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()).replace(" ", "-")
            for title in titles}


def links(text):
    """The links to places of the project; what stands in code is none."""
    return [link for link in LINK.findall(CODE.sub("", text)) if not ELSEWHERE.match(link)]


def judge(path, pages, places):
    """Complaints about the links of pages[path]; `places` are the files and folders that there are."""
    complaints = []
    for link in links(pages[path]):
        place, _, anchor = link.partition("#")
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), place)) if place else path
        if target not in places:
            complaints.append(f"{path}: ({link}) leads to {target}, which is not there")
        elif anchor and anchor not in headings(pages.get(target, "")):
            complaints.append(f"{path}: ({link}): {target} has no such heading")
    return complaints


def main():
    complaints = []
    paths = all_files()
    places = {str(place) for path in paths for place in (path, *path.parents)}
    pages = {str(path): text_of(path) for path in paths if path.suffix == ".md"}
    for path in pages:
        complaints += judge(path, pages, places)
    followed = sum(len(links(text)) for text in pages.values())
    if not followed:
        complaints.append("no link was followed: is this the project's root?")
    print(*complaints, sep="\n")
    print(f"{followed} links in {len(pages)} pages followed")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
