#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that every link leads somewhere: in the pages of the repository, or in a site that was built.

    links.py                  relative links and anchors in every .md file, as GitHub reads them
    links.py --site DIR       links, pictures, scripts and anchors in every .html file, and whether the navigation has
                              all pages
"""

import argparse
import html.parser
import json
import os
import pathlib
import re
import sys
import urllib.parse

LINK = re.compile(r"\](?P<all>\((?P<target>[^()\s#]*)(?P<anchor>#[^()\s]*)?(?: \"[^\"]*\")?\))")
ROOT = pathlib.Path(__file__).resolve().parents[2]
LEFT_OUT = {"build", "fixtures", "node_modules"}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    arguments.add_argument("--site", type=pathlib.Path)
    options = arguments.parse_args()
    problems, count = check_site(options.site) if options.site else check_pages(ROOT)
    for problem in problems:
        print(problem)
    print(f"{count} links: {len(problems)} problems")
    sys.exit(1 if problems or count == 0 else 0)


def pages_in(root):
    """The pages of the repository, by their paths."""
    pages = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT and not name.startswith("."))
        pages += [os.path.relpath(os.path.join(folder, name), root) for name in sorted(files) if name.endswith(".md")]
    return pages


def is_foreign(target):
    return re.match(r"[a-z]+:", target) is not None


def outside_fences(text, change, code=lambda line: line):
    """The text with every line changed that is no code of a fence; the lines of code are changed by `code`."""
    lines, fence = [], None
    for line in text.split("\n"):
        mark = re.match(r"\s*(`{3,}|~{3,})", line)
        if fence is None and mark:
            fence = mark[1]
        elif fence is not None:
            if mark and mark[1].startswith(fence):
                fence = None
            line = code(line)
        else:
            line = change(line)
        lines.append(line)
    return "\n".join(lines)


def check_pages(root):
    problems, count, anchors = [], 0, {}
    for page in pages_in(root):
        text = (root / page).read_text()
        text = outside_fences(text, lambda line: re.sub(r"`[^`]*`", "", line), code=lambda line: "")
        for match in LINK.finditer(text):
            target, anchor = match["target"], match["anchor"]
            if is_foreign(target):
                continue
            count += 1
            path = os.path.normpath(os.path.join(os.path.dirname(page), target)) if target else page
            if path.startswith("..") or not (root / path).exists():
                problems.append(f"{page}: {target} leads nowhere")
            elif anchor and path.endswith(".md"):
                if path not in anchors:
                    anchors[path] = anchors_of((root / path).read_text())
                if anchor[1:] not in anchors[path]:
                    problems.append(f"{page}: {path} has no heading for {anchor}")
    return problems, count


def anchors_of(text):
    """The anchors of a page's headings: lower case, blanks as -, no other punctuation, and a number for repetitions."""
    anchors = set()

    def note(line):
        match = re.match(r"#{1,6} (.*)", line)
        if match:
            heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match[1])
            anchor = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
            number = 0
            while (f"{anchor}-{number}" if number else anchor) in anchors:
                number += 1
            anchors.add(f"{anchor}-{number}" if number else anchor)
        anchors.update(re.findall(r'<a (?:id|name)="([^"]*)"', line))
        return line

    outside_fences(text, note)
    return anchors


class Page(html.parser.HTMLParser):
    """The links and the anchors of a page of the site."""

    def __init__(self, text):
        super().__init__()
        self.targets, self.anchors = [], {""}
        self.navigation, self.depth = set(), 0  # the links of the sidebar, and how many <nav> of it are open
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.anchors.update(value for key, value in attributes.items() if key in ("id", "name") and value)
        if tag == "nav" and (self.depth or "md-nav--primary" in attributes.get("class", "").split()):
            self.depth += 1
        if tag == "a" and self.depth and attributes.get("href"):
            self.navigation.add(urllib.parse.unquote(attributes["href"]).partition("#")[0])
        for key in ("href", "src"):
            if attributes.get(key):
                is_loaded = key == "src" or (tag == "link" and attributes.get("rel") == "stylesheet")
                self.targets.append((attributes[key], is_loaded))


    def handle_endtag(self, tag):
        if tag == "nav" and self.depth:
            self.depth -= 1


def check_navigation(site):
    """The sidebar of the home page leads to every page that a search can find."""
    index = json.loads((site / "search/search_index.json").read_text())
    found = {entry["location"].partition("#")[0] or "index.html" for entry in index["docs"]}
    listed = Page((site / "index.html").read_text()).navigation
    return [f"{page}: no entry of the navigation leads there" for page in sorted(found - listed)], len(found)


def check_site(site):
    pages = {path: Page(path.read_text()) for path in sorted(site.rglob("*.html"))}
    problems, count = check_navigation(site)
    for path, page in pages.items():
        for target, is_loaded in page.targets:
            url = urllib.parse.urlsplit(target)
            name = path.relative_to(site)
            if url.scheme in ("mailto", "data"):
                continue
            count += 1
            if url.scheme or url.netloc:
                if is_loaded:
                    problems.append(f"{name}: {target} is loaded from elsewhere")
            elif name.name != "404.html":  # whose links begin at the root of a server
                to = pathlib.Path(os.path.normpath(path.parent / urllib.parse.unquote(url.path))) if url.path else path
                to = to / "index.html" if to.is_dir() else to
                anchor = urllib.parse.unquote(url.fragment)
                if not to.exists():
                    problems.append(f"{name}: {target} leads nowhere")
                elif to in pages and anchor not in pages[to].anchors:
                    problems.append(f"{name}: {target} has no such place")
    return problems, count


if __name__ == "__main__":
    main()
