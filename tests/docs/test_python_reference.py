# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a page of the Python package takes from a docstring, and the types of words from headers."""

import ast
import pathlib
import tempfile
import unittest

import python_reference
import python_words
from declarations import PageError

DOCSTRING = '''"""A sentence
on two lines.

Some text.

Parameters
----------
q, k : arrays,
    of reals.
more : what else.

Example
-------
    if True:
        f(1)
"""'''


def function_of(docstring, parameters="q, k, **more"):
    return ast.parse(f"def f({parameters}):\n" + "".join(f"    {line}\n" for line in docstring.splitlines())).body[0]


class Docstrings(unittest.TestCase):
    def test_parts(self):
        sentence, text, sections = python_reference.parsed(function_of(DOCSTRING), "f")
        self.assertEqual((sentence, text), ("A sentence on two lines.", ["Some text."]))
        self.assertEqual(sections["Example"], ["if True:", "    f(1)"])
        self.assertEqual(
            python_reference.entries(sections["Parameters"], "f"),
            [("q`, `k", "arrays, of reals."), ("more", "what else.")],
        )

    def test_docstrings_that_make_no_page(self):
        for docstring, sentence in {
            "pass": "f has no docstring",
            '"""No end"""': "does not begin with a sentence",
            '"""An end.\n\nExample\n-------\nReturns\n-------\n"""': "the sections of f are",
        }.items():
            with self.subTest(docstring), self.assertRaisesRegex(PageError, sentence):
                python_reference.parsed(function_of(docstring), "f")
        with self.assertRaisesRegex(PageError, "write 'name : text'"):
            python_reference.entries(["name"], "f")

    def test_parameters_are_those_of_the_function(self):
        sections = python_reference.parsed(function_of(DOCSTRING), "f")[2]
        python_reference.require_parameters(function_of(DOCSTRING), sections, "f")
        with self.assertRaisesRegex(PageError, "differ in another"):
            python_reference.require_parameters(function_of(DOCSTRING, "q, k, /, *, another=1, **more"), sections, "f")


HEADER = """
namespace fovea::FOVEA_SET {

inline constexpr plain_t plain{};
inline constexpr auto made = window(0);
template <class Table>
constexpr auto window(Table&& table, integer_argument left = 2, bool turned = true) {
    return 1;
}
template <std::size_t Axes>
constexpr auto window(index_t const (&size)[Axes], index_t const (&extent)[Axes]) {
    return 1;
}
template <fovea::expression E>
constexpr auto once(E const& e) {
    return 1;
}
template <class F>
    requires(!fovea::expression<F>)
constexpr auto once(F const& f) {
    return 1;
}

}  // namespace fovea::FOVEA_SET
"""


class Words(unittest.TestCase):
    def test_words_take_what_headers_declare(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "words.hpp").write_text(HEADER)
            declared = python_words.Declared(pathlib.Path(folder), ["./words.hpp"])
        for name, expected in {
            "plain": 'plain: Stage\n"""A word."""',
            "made": 'made: Stage\n"""A word."""',
            "once": 'def once(e: _Formula, /) -> Stage:\n    """A word."""',
            "window": "@overload\ndef window(table: Value, left: _Integer = 2, turned: bool = True, /) -> Stage:\n"
            '    """A word."""\n'
            "@overload\ndef window(size: Sequence[int], extent: Sequence[int], /) -> Stage:\n"
            '    """A word."""',
        }.items():
            with self.subTest(name):
                self.assertEqual(declared.word(name, "A word."), expected)
        with self.assertRaisesRegex(PageError, "no header declares the word gone"):
            declared.word("gone", None)


if __name__ == "__main__":
    unittest.main()
