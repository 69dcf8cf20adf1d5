#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prepares the site: puts all pages of the repository into one folder, in their places, and what they show beside them.

Source files that pages link to become pages too; docs/errors.md gets a heading for each sentence, so that a search
finds it; the tour, the page that computes in a browser and the chart of the benchmarks are added where they have been
made.

    site.py DIR [--tour DIR] [--live HTML] [--chart SVG] [--into SITE]

With --into, MkDocs builds the site; the index of its search is then cleared of source files and formulas.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import links

ROOT = pathlib.Path(__file__).resolve().parents[2]
MATHJAX = pathlib.Path("/usr/share/javascript/mathjax")
PARTS_OF_MATHJAX = (
    "MathJax.js",
    "config/TeX-AMS_CHTML.js",
    "extensions",
    "jax/element",
    "jax/input/TeX",
    "jax/output/CommonHTML",
    "fonts/HTML-CSS/TeX/woff",
)

# The order of the pages: a name, and patterns of pages or such a list again. A page that no pattern finds comes last.
ORDER = [
    ("Home", ["README.md"]),
    ("By task", ["docs/README.md"]),
    (
        "Use",
        [
            "docs/install.md",
            "docs/tutorial.md",
            "docs/variants.md",
            "docs/language.md",
            "docs/writing_a_word.md",
            "docs/tour.md",
            "docs/browser.md",
            "docs/containers.md",
            "docs/executors.md",
            "docs/kernels.md",
            "python/README.md",
        ],
    ),
    ("How to", ["docs/how_to/*.md"]),
    (
        "Reference",
        ["docs/reference/README.md"]
        + [
            (name, [f"docs/reference/{folder}/*.md"])
            for name, folder in [
                ("Surface", "surface"),
                ("Projections", "project"),
                ("Scores", "score"),
                ("Masks", "mask"),
                ("Selections", "keep"),
                ("Normalizers", "normalize"),
                ("Aggregators", "aggregate"),
                ("Results", "result"),
                ("Calls", "driver"),
                ("Python", "python"),
            ]
        ],
    ),
    ("Errors", ["docs/errors.md"]),
    ("Performance", ["docs/inside/performance.md"]),
    ("Inside", ["docs/map.md", "docs/inside/*.md", "docs/glossary.md"]),
    ("Decisions", ["docs/inside/decisions/README.md", "docs/inside/decisions/*.md"]),
    (
        "Project",
        [
            "docs/support.md",
            "packaging/README.md",
            "CHANGELOG.md",
            "CONTRIBUTING.md",
            "CODE_OF_CONDUCT.md",
            "SECURITY.md",
        ],
    ),
    ("More", ["*.md", "**/*.md"]),
]
WITHOUT_CONTENTS = "---\nhide:\n  - toc\n---\n\n"  # begins a page that is short, or has no headings
LANGUAGES = {".hpp": "cpp", ".cpp": "cpp", ".h": "c", ".c": "c", ".py": "python", ".cmake": "cmake", ".sh": "sh"}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    arguments.add_argument("site", type=pathlib.Path)
    arguments.add_argument(
        "--tour", type=pathlib.Path, help="folder with tour.txt and pictures, as ./run demo leaves it"
    )
    arguments.add_argument("--live", type=pathlib.Path, help="the page of examples/browser, as ./run docs builds it")
    arguments.add_argument("--chart", type=pathlib.Path, help="the chart of a run of the benchmarks")
    arguments.add_argument("--into", type=pathlib.Path, help="where the site is built")
    options = arguments.parse_args()
    shutil.rmtree(options.site, ignore_errors=True)
    site = Site(options.site / "pages")
    for page in links.pages_in(ROOT):
        if not page.startswith("tests/"):
            site.add_page(page)
    site.add_tour(options.tour)
    site.add_live(options.live)
    site.add_chart(options.chart)
    site.add_linked_sources()
    site.add_assets()
    configuration = (ROOT / "docs/tools/mkdocs.yml").read_text()
    configuration += f"\ndocs_dir: pages\nnav: {json.dumps(site.navigation())}\n"
    (options.site / "mkdocs.yml").write_text(configuration)
    print(f"{len(site.pages)} pages, {len(site.sources)} of source files")
    if options.into:
        command = ["mkdocs", "build", "--quiet", "--strict", "--config-file", options.site / "mkdocs.yml"]
        if subprocess.run([*command, "--site-dir", options.into.resolve()]).returncode:
            sys.exit("site.py: MkDocs has found problems")
        site.clear_index(options.into / "search/search_index.json")


class Site:
    def __init__(self, folder):
        self.folder = folder
        self.pages = []  # paths in the repository, which are those in the site
        self.sources = set()  # files and folders that pages link to

    def write(self, path, text):
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def add_page(self, page):
        text = (ROOT / page).read_text()
        text = re.sub(r"\A<!--.*?-->\n+", "", text)
        if page == "docs/errors.md":
            text = re.sub(r"^\*\*(.*)\*\*$", r"### \1\n", text, flags=re.MULTILINE)
            text += "\n<style>.md-nav--secondary .md-nav { display: none }</style>\n"  # a list of all is no overview
        elif re.match(r"docs/reference/\w+/", page):
            text = WITHOUT_CONTENTS + text
        text = links.outside_fences(text, lambda line: wide_chart(table_row(self.with_links(page, line))))
        self.write(page, text)
        self.pages.append(page)

    def with_links(self, page, line):
        """A line whose links lead to pages of the site."""

        def changed(match):
            target, anchor = match["target"], match["anchor"] or ""
            if not target or links.is_foreign(target):
                return match[0]
            path = os.path.normpath(os.path.join(os.path.dirname(page), target))
            if path.endswith(".md"):
                return match[0]
            place = ROOT / path
            if place.suffix in (".svg", ".png"):
                (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(place, self.folder / path)
                return match[0]
            if place.is_dir() and (place / "README.md").exists():
                return f"]({target.rstrip('/')}/README.md{anchor})"
            self.sources.add(path)
            return f"]({target.rstrip('/')}{'/README.md' if place.is_dir() else '.md'})"

        return links.LINK.sub(changed, line)

    def add_linked_sources(self):
        for path in sorted(self.sources):
            place = ROOT / path
            start = f"{WITHOUT_CONTENTS}# {place.name}\n\n"
            if place.is_dir():
                rows = "".join(f"- {self.entry(path, entry)}\n" for entry in sorted(place.iterdir()))
                self.write(f"{path}/README.md", f"{start}Files of `{path}`:\n\n{rows}")
            else:
                language = LANGUAGES.get(place.suffix, "cmake" if place.name == "CMakeLists.txt" else "text")
                text = place.read_text()
                self.write(f"{path}.md", f"{start}`{path}`\n\n~~~~{language}\n{text}~~~~\n")

    def entry(self, folder, entry):
        return f"[{entry.name}]({entry.name}.md)" if f"{folder}/{entry.name}" in self.sources else f"`{entry.name}`"

    def add_tour(self, made):
        """What the tour prints, and its pictures."""
        if made is None or not (made / "tour.txt").exists():
            print("the tour is left out: ./run demo makes it")
            return
        text = "# Tour\n\nMade by `./run demo` when this site was built; the program is `examples/tour/main.cpp`.\n"
        for station in re.split(r"\n+--- (?=\d+\. )", (made / "tour.txt").read_text()):
            title, _, rest = station.partition(" ---\n")
            if rest:
                text += f"\n## {title}\n"
            text += f"\n```text\n{(rest or station).strip(chr(10))}\n```\n"
            for picture in sorted(made.glob("*.svg")):
                if picture.name in station:
                    shutil.copy(picture, self.folder / "docs" / picture.name)
                    text += f"\n![{picture.stem.replace('_', ' ')}]({picture.name})\n"
        text += "\n[The club again](browser.md), computed in your browser.\n"
        self.write("docs/tour.md", text)
        self.pages.append("docs/tour.md")

    def add_live(self, live):
        """The page that computes in a browser, beside the page about it, which begins with a link to it."""
        if live is None or not live.exists():
            print("the page that computes in a browser is left out: ./run docs builds it")
            return
        shutil.copy(live, self.folder / "docs/live.html")
        page = self.folder / "docs/browser.md"
        page.write_text(page.read_text().replace("\n\n", "\n\n**[Open the page](live.html)**\n\n", 1))

    def add_chart(self, chart):
        """The chart stands at the beginning of the page on performance, unless that shows one."""
        page = self.folder / "docs/inside/performance.md"
        text = page.read_text()
        if 'src="performance.svg"' in text:
            return
        if chart is None or not chart.exists():
            print("the chart is left out: ./run bench draws it")
            return
        shutil.copy(chart, page.parent / "performance.svg")
        picture = wide_chart("![Speed, as a share of the peak](performance.svg)")
        caption = "Drawn by `./run bench` on the machine that built this site."
        page.write_text(text.replace("\n\n", f"\n\n{picture}\n\n{caption}\n\n", 1))

    def add_assets(self):
        if not MATHJAX.exists():
            sys.exit(f"site.py: there is no {MATHJAX}: install libjs-mathjax and fonts-mathjax")
        shutil.copytree(ROOT / "docs/tools/assets", self.folder / "assets")
        for part in PARTS_OF_MATHJAX:
            place = self.folder / "assets/mathjax" / part
            if (MATHJAX / part).is_dir():
                shutil.copytree(MATHJAX / part, place)
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(MATHJAX / part, place)

    def clear_index(self, place):
        index = json.loads(place.read_text())
        pages = {page.removesuffix(".md").replace("README", "index") for page in self.pages}
        index["docs"] = [entry for entry in index["docs"] if entry["location"].partition(".html")[0] in pages | {""}]
        formulas = set()
        for page in self.pages:
            formulas.update(re.findall(r"^```math\n(.*)\n```$", (self.folder / page).read_text(), re.MULTILINE))
        for entry in index["docs"]:
            for formula in formulas:
                entry["text"] = entry["text"].replace(formula, "")
        place.write_text(json.dumps(index))

    def navigation(self):
        left = list(self.pages)

        def entries(patterns):
            found = []
            for pattern in patterns:
                if isinstance(pattern, tuple):
                    section = entries(pattern[1])
                    found += [{pattern[0]: section}] if section else []
                else:
                    matching = [page for page in left if pathlib.PurePath(page).match(pattern)]
                    if not pattern.startswith("*"):
                        matching = [page for page in matching if page.count("/") == pattern.count("/")]
                    for page in matching:
                        left.remove(page)
                    found += matching
            return found

        navigation = []
        for name, patterns in ORDER:
            section = entries(patterns)
            if section:
                navigation.append({name: section[0] if section == patterns and len(section) == 1 else section})
        return navigation


def table_row(line):
    """In a row of a table, this generator takes `a \\| b` literally; GitHub does not."""
    if not line.startswith("|"):
        return line
    return re.sub(r"`[^`]*`", lambda code: code[0].replace("\\|", "|"), line)


def wide_chart(line):
    """A chart keeps a width at which it can be read, in a box that scrolls, and leads to the picture alone."""
    return re.sub(
        r"^!\[(.*)\]\((\S*performance\.svg)\)$", r'<a class="chart" href="\2"><img alt="\1" src="\2"></a>', line
    )


if __name__ == "__main__":
    main()
