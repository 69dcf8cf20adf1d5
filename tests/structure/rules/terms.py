"""The terms are those of the field. Each word of the project's own that the code keeps stands in docs/glossary.md with
the field's term beside it, and a comment begins with its noun, not with "What"."""

import re

from .tree import Report, Tree

CHECKED = "sources"
AT_LEAST = 700

GLOSSARY = "docs/glossary.md"
FOLDERS = ("include", "src", "bench", "examples", "tests")
# Words of the project's own, by which readers from elsewhere do not know the thing.
OUR_OWN = ("finish", "granule", "fold", "listed keys", "normalizer", "pack", "plane", "running state", "score tile",
           "split keys", "tile", "traversal")  # fmt: skip


def check(tree: Tree, report: Report) -> None:
    rows = re.findall(r"^\| ([^|]*) \|[^|]*\|([^|\n]*)\|$", tree.text(GLOSSARY), re.MULTILINE)
    of_the_field = {word.strip(): elsewhere.strip() for words, elsewhere in rows for word in words.split(",")}
    for word in OUR_OWN:
        if not of_the_field.get(word):
            report.problem(f"{GLOSSARY} does not say what others call '{word}'")
    for source in [name for folder in FOLDERS for name in tree.files(f"{folder}/**/*.[ch]pp")]:
        report.checked += 1
        for number, line in enumerate(tree.text(source).splitlines(), 1):
            if re.match(r"\s*///? What\b", line):
                report.problem(f"{source}:{number}: begins with 'What': begin with the noun")
