#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the reference pages, docs/reference/<part>/<word>.md, so that nothing is written twice.

A page is made of the header of its word (the declarations, and the comment that begins with the name of the word) and
of the region `example` of its test. The comment is

    /// name: a sentence.
    ///
    ///     formulas, conditions and calls
    ///
    /// Text, and sections: each begins on a line of its own, with one of LABELS and a colon. Options become a table:
    /// Options: a sentence of what holds without them; .member(x): what it changes; .other(): what that does.

    reference.py    writes the pages and their table; tests/structure/check.py reference compares them

The pages of the Python package are made by python_reference.py.
"""

import pathlib
import re
import sys

import formulas
import python_reference
import regions
from declarations import PageError, signature_of

PARTS = {
    "project": "Projections, and maps of queries, keys and values",
    "score": "Scores, and what changes them",
    "mask": "Masks",
    "keep": "Selections: which keys stay before they are normalized",
    "normalize": "Normalizers, and what changes their weights",
    "aggregate": "Aggregators and finishes",
    "result": "Additional inputs and outputs of a call",
    "driver": "Calls",
}
WRITTEN = {"surface": "What every program uses"}  # folders of pages that are written by hand
OTHERS = {"driver/merge": "driver/merge", "driver/ragged": "spec/part/ragged"}  # pages of what is no word: page, header
LABELS = ("Shapes", "Options", "Cost", "Gradients", "Edge cases", "Errors", "Source")
COMMENT_LINES = 12


def main():
    root, problems = pathlib.Path(__file__).resolve().parents[2], []
    pages = pages_of(root, problems)
    for path, text in pages.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    problems += pages_without_header(root, pages)
    for problem in problems:
        print(problem)
    print(f"{len(pages)} pages: {len(problems)} problems")
    sys.exit(1 if problems else 0)


def check_pages(root):
    """What stands in the way of the pages, and where they differ from what would be written; how many there are."""
    problems = []
    pages = pages_of(root, problems)
    for path, text in pages.items():
        if not (root / path).exists():
            problems.append(f"{path} is missing")
        elif (root / path).read_text() != text:
            problems.append(f"{path} differs from what it is made of: ./run docs reference writes it anew")
    return problems + pages_without_header(root, pages), len(pages)


def pages_without_header(root, pages):
    """Of a word that is gone, the page goes."""
    parts = (*PARTS, python_reference.FOLDER)
    stored = [place for part in parts for place in sorted((root / "docs/reference" / part).glob("*.md"))]
    names = [str(place.relative_to(root)) for place in stored]
    return [f"{name} belongs to no header and no module" for name in names if name not in pages]


def pages_of(root, problems):
    """The text of every page by its path."""
    headers = {
        f"{part}/{header.stem}": f"{part}/{header.stem}"
        for part in PARTS
        if part != "driver"
        for header in sorted((root / "include/fovea" / part).glob("*.hpp"))
    }
    headers |= {page: header for page, header in OTHERS.items() if (root / f"include/fovea/{header}.hpp").exists()}
    words = {}
    for page, header in headers.items():
        try:
            words[page] = Word(root, page, f"include/fovea/{header}.hpp")
        except (PageError, formulas.FormulaError) as error:
            problems.append(f"include/fovea/{header}.hpp: {error}")
    names = {page.stem: f"{page.parent.name}/{page.stem}" for page in written_pages(root)}
    names |= {word.name: page for page, word in words.items()}
    pages = {f"docs/reference/{page}.md": word.page(names) for page, word in words.items()}
    sentences = {word.name: word.sentence[0].upper() + word.sentence[1:] for word in words.values()}
    of_words = [word.header for page, word in words.items() if not page.startswith("driver/")]
    of_python, lines = python_reference.pages_of(root, of_words, names, sentences, problems)
    if words:
        pages["docs/reference/README.md"] = table_of(words, names, root, lines)
    return pages | of_python


def written_pages(root):
    """The pages in docs/reference that are written by hand: those in other folders than the parts."""
    pages = sorted((root / "docs/reference").glob("*/*.md"))
    return [page for page in pages if page.parent.name not in (*PARTS, python_reference.FOLDER)]


class Word:
    """What the header and the test of a word say."""

    def __init__(self, root, page, header):
        self.path, self.header, self.test = page, header, f"tests/{page}.cpp"
        self.name = page.split("/")[1]
        text = (root / header).read_text()
        self.sentence, self.lines, self.sections = parse_comment(comment_of(text, self.name), self.name)
        self.signature = signature_of(text, self.name)
        self.math = [formulas.to_tex(line) for line in self.lines if formulas.is_formula(line)]
        self.code = [call for line in self.lines if not formulas.is_formula(line) for call in calls_of(line)]
        self.example = example_of(root / self.test)

    def page(self, names):
        blocks = [
            f"<!-- Made by docs/tools/reference.py from {self.header} and {self.test}. -->",
            f"# {self.name}",
            capital(self.sentence, names, self.path),
        ]
        blocks += [f"```math\n{tex}\n```" for tex in self.math]
        if self.code:
            blocks.append("```text\n" + "\n".join(self.code) + "\n```")
        for label, text in self.sections:
            options = []
            if label == "Options":
                text, options = options_of(text)
            text = capital(text, names, self.path)
            blocks.append(f"**{label}.** {text}" if label else text)
            if options:
                rows = [f"| `{call}` | {in_markdown(what, names, self.path)} |" for call, what in options]
                blocks.append("\n".join(["| option | |", "|---|---|", *rows]))
        blocks.append("## Example")
        blocks.append(f"<!-- {self.test}:example -->\n```cpp\n{self.example}\n```")
        blocks.append("## Declaration")
        blocks.append(f"<!-- declarations: {self.header} -->\n```cpp\n{self.signature}\n```")
        up = "../../../"
        blocks.append(f"Header: [{self.header}]({up}{self.header}). Tests: [{self.test}]({up}{self.test}).")
        return "\n\n".join(blocks) + "\n"


def table_of(words, names, root, of_python):
    """The words by part, and before them the pages that are written by hand: the first sentence of each."""
    lines = [
        "<!-- Made by docs/tools/reference.py from the headers of all words. -->",
        "",
        "# Reference",
        "",
        "An attention is written in the order of these parts. Each word has a header, a test and a page of its name.",
    ]
    written = {}
    for page in written_pages(root):
        written.setdefault(page.parent.name, []).append(page)
    for folder, pages in written.items():
        lines += ["", f"## {WRITTEN.get(folder, folder.capitalize())}", "", "| page | contents |", "|---|---|"]
        for page in pages:
            title, sentence = start_of(page)
            lines.append(f"| [{title}]({folder}/{page.name}) | {sentence} |")
    for part, title in PARTS.items():
        of_part = [word for page, word in sorted(words.items()) if page.startswith(part + "/")]
        if of_part:
            lines += ["", f"## {title}", "", "| word | meaning |", "|---|---|"]
            for word in of_part:
                sentence = capital(word.sentence, names, None).replace("|", "\\|")
                lines.append(f"| [{word.name}]({word.path}.md) | {sentence} |")
    if of_python:
        lines += ["", "## The Python package", "", "| name | meaning |", "|---|---|", *of_python]
    return "\n".join(lines) + "\n"


def start_of(page):
    """The title of a page and its first sentence, without links."""
    title, text = re.search(r"^# (.+)\n\n((?:.+\n)+)", page.read_text(), re.MULTILINE).groups()
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(text.split()))
    return title.strip("`"), re.match(r".*?[.:](?= |$)|.*", text)[0].rstrip(".:").replace("|", "\\|") + "."


# The comment of a word.


def comment_of(text, name):
    found = re.findall(rf"^/// {name}: .*\n(?:///.*\n)*", text, re.MULTILINE)
    if len(found) != 1:
        raise PageError(f"{len(found)} comments begin with '/// {name}: '")
    lines = [re.sub(r"^/// ?", "", line) for line in found[0].splitlines()]
    if len(lines) > COMMENT_LINES:
        raise PageError(f"the comment of {name} has {len(lines)} lines, and {COMMENT_LINES} are allowed")
    return lines


def parse_comment(lines, name):
    """The sentence, the lines of the indented block, and the sections: (label, text), without a label first."""
    try:
        first, second = [at for at, line in enumerate(lines) if not line]
    except ValueError:
        raise PageError(
            f"the comment of {name} is a sentence, an indented block and text, with empty lines between"
        ) from None
    sentence = " ".join(lines[:first])[len(name) + 2 :]
    if not sentence.endswith("."):
        raise PageError(f"the first sentence of {name} has no end")
    block = lines[first + 1 : second]
    if not block or not all(line.startswith("    ") for line in block):
        raise PageError(f"the block of {name} is not indented by four blanks")
    sections = []
    for line in lines[second + 1 :]:
        match = re.match(rf"({'|'.join(LABELS)}): ", line)
        if match:
            sections.append((match[1], line[match.end() :]))
        elif sections:
            sections[-1] = (sections[-1][0], f"{sections[-1][1]} {line}")
        else:
            sections.append((None, line))
    labels = [label for label, _ in sections if label]
    if labels != [label for label in LABELS if label in labels]:
        raise PageError(f"the sections of {name} are {', '.join(labels)}: their order is {', '.join(LABELS)}")
    if "Cost" not in labels:
        raise PageError(f"{name} does not say what it costs")
    return sentence, [line[4:] for line in block], sections


def options_of(text):
    """What holds without options, and (call, what it changes) of each."""
    first, *rest = re.split(r"; (?=\.\w+\()", text.removesuffix("."))
    options = [re.fullmatch(r"(\.\w+\([^()]*\)): (.*)", item) for item in rest]
    if not options or not all(options):
        raise PageError("options are a sentence and then '; .member(x): what it changes' for each")
    return f"{first}.", [match.groups() for match in options]


def calls_of(line):
    """Calls that stand side by side, one a line; a remark in plain words stays with the call before it."""
    calls = []
    for part in re.split(r" {3,}", line):
        if calls and re.fullmatch(r"[a-z ,-]+", part):
            calls[-1] += f"  // {part}"
        else:
            calls.append(part)
    return calls


NAME = r"[A-Za-z]\w*(?:::\w+)*(?:<[\w, ]+>)?"
GROUP = r"[(\[](?:[^()\[\]]|[(\[][^()\[\]]*[)\]])*[)\]]"  # with groups in it
CODE = re.compile(
    r"`[^`]*`"  # marked by the author
    rf"|\.?{NAME}(?:{GROUP})+"  # a call, or an element
    rf"|std::{NAME}|\w+_\w+(?:<[\w, ]+>)?"  # a name
    r"|(?<![\w)])-(?:inf|\d[\w.]*\b)"  # a negative number
)


def in_markdown(text, names, here):
    """Names and calls as code; those that have a page, by `names`, are links to it from the page `here`."""

    def mark(match):
        code = match[0].strip("`")
        page = names.get(re.fullmatch(r"(\w*).*?\)|.*", code)[1] or code)
        if page is None or page == here:
            return f"`{code}`"
        if here is not None:
            page = page.split("/")[1] if page.split("/")[0] == here.split("/")[0] else f"../{page}"
        return f"[`{code}`]({page}.md)"

    return CODE.sub(mark, text).replace("` `", " ")


def capital(text, names, here):
    text = in_markdown(text, names, here)
    return text[0].upper() + text[1:]


# The example of a test.


def example_of(path):
    """The region `example` of a test."""
    if not path.exists():
        raise PageError(f"{path.name} is missing in tests/")
    example = regions.region_of(path.read_text(), "example")
    if not example:
        raise PageError(f"tests/ has no region example in {path.name}")
    return example


if __name__ == "__main__":
    main()
