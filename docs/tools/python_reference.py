# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the reference pages of the Python package, docs/reference/python/<name>.md, and the types of its words.

A page is made of the docstring and the declaration of a public name, which are read without importing the package. The
docstring is

    A sentence.

    Text, and sections, each below a title with a line of hyphens: those of SECTIONS, in this order. Parameters,
    Attributes and Raises have entries `name, name : text`; the lines of Example are a program that a test runs.

The words have pages already, those of their headers: one page here says which word of Python is which.
"""

import ast
import re
import textwrap

import python_words
from declarations import PageError

PACKAGE = python_words.PACKAGE
FOLDER = "python"
SECTIONS = ("Parameters", "Attributes", "Returns", "Raises", "Example")
MODULES = {"": "__init__", "torch.": "torch"}  # what public names begin with, and the module that lists them

# What the modules of the package use of each other has no page.
INTERNAL = {
    "TracedKernel": ("__init__", "trace", "read", "library", "result", "outputs_asked"),
    "BoundKernel": ("__init__",),
    "Library": ("explain", "results_of"),
    "Specification": ("__init__", "stages", "has", "completed", "text"),
    "Stage": ("__init__", "words", "name", "arguments", "role"),
    "Expression": ("__init__", "text", "kind", "constant", "free", "template", "children", "level", "features"),
    "Graph": ("address",),
}
TITLES = {
    "function": "Functions of expressions",
    "placeholder": "Placeholders",
    "projection": "Projections",
    "score": "Scores",
    "rescoring": "Changes of scores",
    "mask": "Masks",
    "selection": "Selections",
    "normalizer": "Normalizers",
    "reweighting": "Changes of weights",
    "aggregator": "Aggregators",
    "finish": "Finishes",
    "part": "Parts of other words",
}


def pages_of(root, headers, pages, sentences, problems):
    """The text of every file that is made of the package, by its path, and a line of the table of pages for each."""
    if not (root / PACKAGE / "__init__.py").exists():
        return {}, []
    made, lines = {}, []
    items = []
    for prefix, module in MODULES.items():
        for name, place in public_names(root, module).items():
            try:
                items.append(Item(root, prefix, name, place))
            except PageError as error:
                problems.append(f"{place}: {error}")
    links = {item.title: item.file_among(items) for item in items}
    for item in items:
        made[f"docs/reference/{FOLDER}/{links[item.title]}"] = item.page(links)
        lines.append(f"| [{item.title}]({FOLDER}/{links[item.title]}) | {in_cell(item.sentence)} |")
    try:
        names = python_words.names_of(root, headers, pages, sentences)
        made[python_words.STUB] = python_words.stub_of(names)
        made[f"docs/reference/{FOLDER}/words.md"] = page_of_words(names)
        lines.append(f"| [words]({FOLDER}/words.md) | The words, functions and placeholders of the language. |")
    except PageError as error:
        problems.append(f"{python_words.STUB}: {error}")
    return made, lines


def public_names(root, module):
    """Each name that a module lists as its own, with the file that defines it."""
    tree = python_words.tree_of(root, module)
    origins = {
        alias.name: f"{PACKAGE}/{node.module}.py"
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.level == 1
        for alias in node.names
    }
    listed = ast.literal_eval(python_words.assigned(tree, "__all__"))
    return {name: origins.get(name, f"{PACKAGE}/{module}.py") for name in listed}


class Item:
    """A public function or class."""

    def __init__(self, root, prefix, name, path):
        self.name, self.path, self.title = name, path, f"fovea.{prefix}{name}"
        self.lines = (root / path).read_text().splitlines()
        found = [
            node
            for node in ast.parse("\n".join(self.lines)).body
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name
        ]
        if not found:
            raise PageError(f"{name} is neither a function nor a class")
        self.node = found[-1]  # overloads come before it
        self.sentence, self.text, self.sections = parsed(self.node, name)
        if not self.sections.get("Example"):
            raise PageError(f"the docstring of {name} has no section Example")
        self.members = []
        if isinstance(self.node, ast.ClassDef):
            self.members = [m for m in self.node.body if member_name(m) and not self.is_hidden(m)]
            for member in self.members:
                if isinstance(member, ast.FunctionDef) and member.name != "__init__":
                    _, _, sections = parsed(member, f"{name}.{member.name}")
                    if "Parameters" in sections:
                        require_parameters(member, sections, f"{name}.{member.name}")
        else:
            require_parameters(self.node, self.sections, name)

    def is_hidden(self, member):
        name = member_name(member)
        if name in INTERNAL.get(self.name, ()) or is_overload(member):
            return True
        if name.startswith("__"):
            return name != "__init__" and not ast.get_docstring(member)
        return name.startswith("_")

    def file_among(self, items):
        """The name of the page, which differs from others in more than its capitals."""
        same = [item.name for item in items if item.name.lower() == self.name.lower()]
        return f"{self.name}{'_class' if len(same) > 1 and self.name[0].isupper() else ''}.md"

    def page(self, links):
        blocks = [f"<!-- Made by docs/tools/reference.py from {self.path}. -->", f"# {self.title}"]
        blocks += self.described(self.sentence, self.text, self.sections, links)
        example = "\n".join(self.sections["Example"])
        blocks += ["## Example", f"<!-- docstring: {self.path} -->\n```python\n{example}\n```"]
        methods = [m for m in self.members if isinstance(m, ast.FunctionDef) and ast.get_docstring(m)]
        for method in methods:
            blocks.append(f"## {self.name}.{method.name}")
            blocks += self.described(*parsed(method, method.name), links)
        blocks += ["## Declaration", f"<!-- declarations: {self.path} -->\n```python\n{self.declaration()}\n```"]
        blocks.append(f"Module: [{self.path}](../../../{self.path}).")
        return "\n\n".join(blocks) + "\n"

    def described(self, sentence, text, sections, links):
        def linked(words):
            def link(match):
                page = links.get(match[1]) or links.get(f"fovea.{match[1]}")
                return f"[`{match[1]}`]({page})" if page and match[1] not in (self.title, self.name) else match[0]

            return re.sub(r"`([\w.]+)`", link, words)

        blocks = [linked(part) for part in (sentence, *text)]
        for title, lines in sections.items():
            if title == "Returns":
                blocks.append(f"**Returns.** {linked(' '.join(' '.join(lines).split()))}")
            elif title != "Example":
                listed = entries(lines, self.name)
                rows = [f"| {linked(f'`{name}`')} | {in_cell(linked(what))} |" for name, what in listed]
                blocks.append("\n".join([f"| {title.lower()} | |", "|---|---|", *rows]))
        return blocks

    def declaration(self):
        if isinstance(self.node, ast.FunctionDef):
            return self.source(self.node)
        parts = [self.lines[self.node.lineno - 1]]
        for member in self.members:
            marks = [f"    @{ast.unparse(mark)}\n" for mark in getattr(member, "decorator_list", [])]
            parts.append("".join(marks) + self.source(member))
        return "\n".join(parts)

    def source(self, node):
        """The lines of a declaration, as they stand in the module."""
        end = node.end_lineno if isinstance(node, ast.AnnAssign) else node.body[0].lineno - 1
        lines = self.lines[node.lineno - 1 : end]
        while not isinstance(node, ast.AnnAssign) and not lines[-1].rstrip().endswith(":"):
            lines.pop()
        return "\n".join(lines)


def member_name(node):
    if isinstance(node, ast.FunctionDef):
        return node.name
    return node.target.id if isinstance(node, ast.AnnAssign) else None


def is_overload(node):
    return any(isinstance(mark, ast.Name) and mark.id == "overload" for mark in getattr(node, "decorator_list", []))


# Docstrings.


def parsed(node, name):
    """The sentence, the paragraphs after it, and the lines of each section."""
    docstring = ast.get_docstring(node)
    if not docstring:
        raise PageError(f"{name} has no docstring")
    parts = re.split(r"^(\w[\w ]*)\n-+$\n", docstring + "\n", flags=re.MULTILINE)
    sentence, *text = [" ".join(part.split()) for part in parts[0].strip().split("\n\n")]
    if not sentence.endswith((".", ":")):
        raise PageError(f"the docstring of {name} does not begin with a sentence")
    titles = parts[1::2]
    if titles != [title for title in SECTIONS if title in titles]:
        raise PageError(f"the sections of {name} are {', '.join(titles)}: they must be of {', '.join(SECTIONS)}")
    sections = {title: textwrap.dedent(body).strip("\n").split("\n") for title, body in zip(titles, parts[2::2])}
    return sentence, text, sections


def entries(lines, name):
    """(names, text) of each entry of a section."""
    found = []
    for line in lines:
        if line and not line.startswith(" "):
            names, separator, text = line.partition(" : ")
            if not separator:
                raise PageError(f"{name} has the line '{line}' in a section of entries: write 'name : text'")
            found.append([names.replace(", ", "`, `"), text])
        elif line:
            found[-1][1] += f" {line.strip()}"
    return [tuple(entry) for entry in found]


def require_parameters(function, sections, name):
    """Each parameter is described, and no other."""
    given = function.args
    taken = [*given.posonlyargs, *given.args, *given.kwonlyargs, *([given.kwarg] if given.kwarg else [])]
    names = [argument.arg for argument in taken if argument.arg not in ("self", "cls")]
    described = [n for entry, _ in entries(sections.get("Parameters", []), name) for n in entry.split("`, `")]
    if sorted(names) != sorted(described):
        wrong = ", ".join(sorted(set(names) ^ set(described)))
        raise PageError(f"the docstring of {name} and its parameters differ in {wrong}")


def in_cell(text):
    return text.replace("|", "\\|")


# The words.


def page_of_words(names):
    lines = [
        f"<!-- Made by docs/tools/reference.py from {PACKAGE}/_specification.py and the headers of the words. -->",
        "",
        "# Words",
        "",
        "A function that [`fovea.kernel`](kernel.md) is given joins these words by `|`. They are those of C++, and each",
        "leads to its page. Type checkers and editors know them from",
        f"[{python_words.STUB}](../../../{python_words.STUB}).",
    ]
    for name in names:
        if name.role not in TITLES:
            raise PageError(f"{name.name} is a {name.role}, for which the page of words has no title")
    for role, title in TITLES.items():
        of_role = [name for name in names if name.role == role]
        lines += ["", f"## {title}", "", "| in Python | page |", "|---|---|"]
        for name in of_role:
            calls = " or ".join(f"`fovea.{call}`" for call in spelled(name))
            page = f"[{name.page.split('/')[1]}](../{name.page}.md)" if name.page else "[language](../../language.md)"
            lines.append(f"| {calls} | {page} |")
    return "\n".join(lines) + "\n"


def spelled(name):
    """A name with what it takes, for each overload."""
    calls = []
    for node in ast.parse(name.declared).body:
        if isinstance(node, ast.FunctionDef):
            taken = [a.arg for a in [*node.args.posonlyargs, *node.args.args]]
            taken += [f"*{node.args.vararg.arg}"] if node.args.vararg else []
            calls.append(f"{name.name}({', '.join(taken)})")
    return calls or [name.name]
