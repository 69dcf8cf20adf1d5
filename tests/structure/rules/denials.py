"""No page says that the library lacks what a page of reference offers: a how-to is read first, and believed."""

import re

from .tree import Report, Tree

CHECKED = "pages"
AT_LEAST = 20

# What is denied, and the page that offers it.
OFFERED = (
    (r"\bno (?:backward|backward pass|gradients?|derivatives?|training)\b", "docs/reference/surface/gradient.md"),
    (r"\bno weights? (?:of|for) (?:an |each |single )?edges?\b", "docs/reference/surface/weights.md"),
    (r"\bno (?:keys?|values?) in pages\b", "docs/reference/surface/paged.md"),
    (r"\bno (?:C|Python) (?:interface|bindings?)\b", "docs/kernels.md"),
)


def check(tree: Tree, report: Report) -> None:
    for page in tree.files("docs/how_to/*.md") + ["README.md", "docs/tutorial.md", "docs/language.md", "docs/kernels.md"]:
        report.checked += 1
        text = re.sub(r"\s+", " ", tree.text(page))
        for denial, offer in OFFERED:
            for said in re.findall(denial, text, re.IGNORECASE) if tree.exists(offer) and page != offer else ():
                report.problem(f"{page}: '{said}', and {offer} offers it")
