"""Every sentence that the library answers a mistake with stands in docs/errors.md, and every one of the compiler's has
a case in tests/diagnostics/ that makes the mistake; those of the preprocessor are about what compiles it.

  operator T() const = delete;  // fovea: ...   compilers show the line of a deleted function, so it is a sentence too
  // gcc: ..., // clang: ...               a mistake without a sentence: `...` of the page is where it begins
  **fovea: this is a mask: ...**           a line of the page for each static_assert, word for word
  **... has ... heads, ...**               for each exception, with dots for what differs from call to call
"""

import re

from .tree import Report, Tree, folder_of

CHECKED = "sentences"
AT_LEAST = 90

# Where no user's mistake arrives, an assertion may say something of its own.
INSIDE = ("plan", "kernel", "driver", "reference", "testing")


def texts_of(source: str, start: str) -> list[list[str]]:
    """For each statement that starts so, the string literals in it; literals side by side are one."""
    statements = re.findall(re.escape(start) + r"(.*?)\);", source, re.DOTALL)
    return [re.findall(r'"([^"]*)"', re.sub(r'"\s+"', "", statement)) for statement in statements]


def sentences_of_the_compiler(tree: Tree, report: Report) -> list[str]:
    sentences: dict[str, None] = {}
    for header in tree.headers():
        for texts in texts_of(tree.header(header), "static_assert("):
            sentence = texts[-1] if texts else ""
            if sentence.startswith("fovea: "):
                sentences[sentence] = None
            elif sentence and folder_of(header) not in INSIDE:
                report.problem(f"{header}: a static_assert says '{sentence}', which does not begin with 'fovea: '")
        for sentence in re.findall(r"= delete;  // (fovea: .*)$", tree.header(header), re.MULTILINE):
            sentences[sentence] = None
    return list(sentences)


def sentences_of_the_preprocessor(tree: Tree) -> list[str]:
    headers = "\n".join(tree.header(header) for header in tree.headers())
    return re.findall(r'^ *#error "(.*)"$', headers, re.MULTILINE)


def check_exceptions(tree: Tree, page: str, report: Report) -> int:
    thrown = 0
    for header in tree.headers():
        for kind in ("shape_error", "graph_error", "std::invalid_argument", "std::logic_error"):
            for texts in texts_of(tree.header(header), f"{kind}("):
                thrown += 1
                for part in map(str.strip, texts):
                    if len(part) > 5 and part not in page:
                        report.problem(f"{header}: docs/errors.md lacks '{part}' of a {kind}")
    return thrown


def mistakes_tried(tree: Tree, page: str, sentences: list[str], report: Report) -> list[str]:
    tried, cases = [], 0
    for program in tree.files("tests/diagnostics/*.cpp"):
        for case in re.split(r"^// case: ", tree.text(program), flags=re.MULTILINE)[1:]:
            cases += 1
            name = f"{program}: {case.partition(chr(10))[0]}"
            words = re.findall(r"^// (?:gcc|clang): (.+)$", case, re.MULTILINE)
            if len(words) == 2:
                for said in words:
                    if f"`{said}`" not in page:
                        report.problem(f"{name}: docs/errors.md lacks `{said}`")
                continue
            found = re.search(r"^// sentence: (.+(?:\n// .+)*)\n", case, re.MULTILINE)
            if not found:
                report.problem(f"{name}: a line '// sentence: ...' is missing")
                continue
            tried.append(found[1].replace("\n// ", " "))
            if tried[-1] not in sentences:
                report.problem(f"{name}: the library no longer says '{tried[-1]}'")
    report.note(f"{cases} cases make mistakes")
    return tried


def check(tree: Tree, report: Report) -> None:
    page = tree.text("docs/errors.md")
    sentences = sentences_of_the_compiler(tree, report)
    thrown = check_exceptions(tree, page, report)
    tried = mistakes_tried(tree, page, sentences, report)
    listed = re.findall(r"^\*\*(fovea: .*)\*\*$", page, re.MULTILINE)
    preprocessed = sentences_of_the_preprocessor(tree)
    for sentence in preprocessed:
        if sentence not in listed:
            report.problem(f"docs/errors.md lacks '{sentence}'")
    for sentence in listed:
        if sentence not in sentences + preprocessed:
            report.problem(f"docs/errors.md: the library no longer says '{sentence}'")
    for sentence in sentences:
        if sentence not in listed:
            report.problem(f"docs/errors.md lacks '{sentence}'")
        if sentence not in tried:
            report.problem(f"tests/diagnostics/ has no case with '// sentence: {sentence}'")
    for case, program in re.findall(r"\[(\w+)\]\(\.\./(tests/diagnostics/\w+\.cpp)\)", page):
        if f"// case: {case}\n" not in tree.text(program):
            report.problem(f"docs/errors.md: {program} has no case {case}")
    report.note(f"{thrown} exceptions are thrown")
    report.checked = len(sentences) + len(preprocessed) + thrown
