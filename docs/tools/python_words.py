# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The words of the language as a type checker of Python and an editor know them, python/fovea/_words.pyi.

The package makes them when they are first asked for, so that no module has their names: they are those of its tables,
which are read here without importing it. What a word takes is what its header declares, and its sentence is that of its
reference page.
"""

import ast
import re
import textwrap

import declarations
from declarations import PageError

PACKAGE = "python/fovea"
STUB = f"{PACKAGE}/_words.pyi"
FUNCTIONS = "include/fovea/expr/functions.hpp"
PACKED_BITS = "include/fovea/core/packed_bits.hpp"
WIDTH = 116  # of a sentence, without its quotes
RENAMED = {"sum": "sum_of"}  # functions of the package by the names that the language has for them
PAGES = {"any_of": "logic"}  # of what C++ writes otherwise

HEAD = '''\
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Made by docs/tools/reference.py from the tables of the package and the headers of the words.
"""The words, functions and placeholders of the language by their names in C++, which `fovea` makes when they are asked
for: at run time there is no such module."""

from collections.abc import Callable, Sequence
from typing import overload

import numpy as np
import numpy.typing as npt

from ._expression import Expression, Range, Value
from ._graph import Graph
from ._specification import Condition, Rotary, Specification, Stage
from ._table import Table
from ._typing import Operand, SparseRows

_Array = Value | Specification  # also one that words have changed: transposed(w), packed_bits(bytes, keys)
_Formula = Value | Callable[..., object]
_Integer = int | Expression
_Real = float | Expression
'''

# What Python passes for a parameter of C++, by its type; for any other type, what has a value.
OF_TYPES = {
    "integer_argument": "_Integer",
    "Integer const&": "_Integer",
    "double": "_Real",
    "Slope": "_Real",
    "P const&": "_Real",
    "bool": "bool",
    "graph_view": "Graph | SparseRows",
    "Selection const&": "Specification",
    **dict.fromkeys(("E const&", "F const&", "Map const&", "Activation const&"), "_Formula"),
    **dict.fromkeys(("OfQuery const&", "OfKey const&"), "_Formula"),
    **dict.fromkeys(("Query&&", "Key&&", "Value&&", "Matrix&&", "Tensor&&"), "_Array"),
    **dict.fromkeys(("heads_t", "bf16_parts_t", "q8_blocks_t"), "Stage"),
}
NOT_IN_PYTHON = ("Range const&",)  # an overload with such a parameter
TYPES = {"rotary": "Rotary"}  # of words that have options of their own


class Name:
    """A name of the language: how Python declares it, and the page that says more; None without one."""

    def __init__(self, name, role, declared, page):
        self.name, self.role, self.declared, self.page = name, role, declared, page


def stub_of(names):
    """The text of the stub."""
    return HEAD + "\n" + "\n".join(name.declared for name in names) + "\n"


def names_of(root, headers, pages, sentences):
    """Every name of the language in the order of the package's tables.

    `headers` are those of words, `pages` the reference pages by their names, `sentences` those of words.
    """
    modules = ("_specification", "_functions", "_expression", "_capture", "_word_tables")
    package = {name: tree_of(root, name) for name in modules}
    cpp = Declared(root, headers)
    names = []

    def add(name, role, declare, *arguments):
        origin = cpp.origins.get(name, "")
        page = pages.get(PAGES.get(name, name)) or pages.get(origin)
        names.append(Name(name, role, declare(name, *arguments), page))

    for name in constant(package["_functions"], "_FUNCTIONS"):
        add(name, "function", lambda name: "\n".join(cpp.functions(name, "Expression", cpp.sentences.get(name))))
    own = {node.name: node for tree in package.values() for node in tree.body if isinstance(node, ast.FunctionDef)}
    for name in [*keys_of(package["_functions"], "FUNCTIONS"), *keys_in(own["vocabulary"])]:
        add(name, "function", own_function, own[RENAMED.get(name, name)])
    for name in placeholders_in(package["_specification"]):
        add(name, "placeholder", "{}: Expression".format)
    for name, role in constant(package["_specification"], "WORDS").items():
        add(name, role, cpp.word, sentences.get(name) or sentences.get(cpp.origins.get(name)))
    return names


# The tables of the package.


def tree_of(root, module):
    return ast.parse((root / PACKAGE / f"{module}.py").read_text())


def assigned(tree, name):
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return node.value
    raise PageError(f"there is no table {name}")


def constant(tree, name):
    """A table that names nothing else."""
    expression = ast.Expression(assigned(tree, name))
    return eval(compile(expression, name, "eval"), {"__builtins__": {}})


def keys_of(tree, name):
    """The keys that a table says itself."""
    return [key.value for key in assigned(tree, name).keys if key is not None]


def keys_in(function):
    """The keys of tables in a function."""
    tables = [node for node in ast.walk(function) if isinstance(node, ast.Dict)]
    return [key.value for table in tables for key in table.keys if isinstance(key, ast.Constant)]


def placeholders_in(tree):
    """The names in the generators of the table."""
    table = assigned(tree, "PLACEHOLDERS")
    return [name for value in table.values for name in ast.literal_eval(value.generators[0].iter)]


def own_function(name, function):
    """A function of the package as it is declared there."""
    arguments = re.sub(r"(?<=[\w\]])=(?=\w)", " = ", ast.unparse(function.args))
    return f"def {name}({arguments}) -> {ast.unparse(function.returns)}:\n{documented(ast.get_docstring(function))}"


def documented(text, indent="    "):
    lines = [line for part in text.splitlines() for line in textwrap.wrap(part, WIDTH - len(indent)) or [""]]
    return textwrap.indent("\n".join(['"""' + lines[0], *lines[1:]]) + '"""', indent)


# What C++ declares.


class Declared:
    """The overloads of each name that a user of C++ writes, None for an object, and the header of each."""

    def __init__(self, root, headers):
        self.overloads, self.origins, self.sentences = {}, {}, {}
        for header in [*headers, FUNCTIONS, PACKED_BITS]:
            if (root / header).exists():
                self.read((root / header).read_text(), header.rsplit("/", 1)[1].removesuffix(".hpp"))

    def read(self, text, origin):
        for item in declarations.items_of(text):
            comment, code = re.fullmatch(r"((?:\s*//[^\n]*\n)*)\s*(.*)", item, re.DOTALL).groups()
            code = re.sub(r"//[^\n]*\n", "", code)
            an_object = re.match(r"inline constexpr [^=;{]*?(\w+)\s*(?:\{|=)", code)
            if an_object:
                name = an_object[1]
                self.overloads[name] = None
            elif (name := declarations.function_name(code)) and declarations.has_named_parameter(code):
                parameters = parameters_in(declarations.parameters_of(code))
                if not any(c_type.startswith(NOT_IN_PYTHON) for c_type, _, _ in parameters):
                    self.overloads.setdefault(name, []).append(parameters)
                if said := re.search(rf"/// ({name}\(.*\) = .*(?:\n/// .*)*)", comment):
                    self.sentences[name] = said[1].replace("\n///", "").rstrip(".") + "."
            else:
                continue
            self.origins[name] = origin

    def functions(self, name, result, sentence=None):
        """A definition for each overload that Python tells apart."""
        if not self.overloads.get(name):
            raise PageError(f"no header declares a function {name}")
        signatures = {}
        for parameters in self.overloads[name]:
            signatures.setdefault(tuple(python_type(c_type) for c_type, _, _ in parameters), parameters)
        definitions = []
        for types, parameters in signatures.items():
            said = ", ".join(
                f"{parameter}: {each}{default_of(default)}" for each, (_, parameter, default) in zip(types, parameters)
            )
            definitions.append(f"def {name}({said}, /) -> {result}:")
        mark = "@overload\n" if len(definitions) > 1 or name == "where" else ""
        end = f"\n{documented(sentence)}" if sentence else " ..."
        return [f"{mark}{definition}{end}" for definition in definitions]

    def word(self, name, sentence):
        if name not in self.overloads:
            raise PageError(f"no header declares the word {name}")
        if self.overloads[name] is None:
            return f"{name}: {TYPES.get(name, 'Stage')}" + (f"\n{documented(sentence, '')}" if sentence else "")
        definitions = self.functions(name, "Stage", sentence)
        if name == "where":  # of three arguments it is select
            definitions.append("@overload\ndef where(condition: Value, a: Value, b: Value, /) -> Expression: ...")
        return "\n".join(definitions)


def parameters_in(text):
    """(type, name, default) of each."""
    found = []
    for parameter in re.split(r",(?![^<({\[]*[>)}\]])", " ".join(text.split())):
        parameter, _, default = parameter.strip().removeprefix("[[maybe_unused]] ").partition(" = ")
        if array := re.fullmatch(r".*? const \(&(\w+)\)\[\w+\]", parameter):
            found.append(("Sequence[int]", array[1], default))
        elif named := re.fullmatch(r"(.+?)(?:\.\.\.)? ([a-z]\w*)", parameter):
            found.append((named[1], named[2], default))
        else:
            found.append((parameter, re.match(r"[a-z]+", parameter)[0], default))
    return found


def python_type(c_type):
    return c_type if c_type.startswith("Sequence") else OF_TYPES.get(c_type.partition("<")[0], "Value")


def default_of(default):
    of_python = {"true": "True", "false": "False", "": None, "{}": "..."}
    value = of_python.get(default, default.removesuffix("f"))
    return "" if value is None else f" = {value}"
