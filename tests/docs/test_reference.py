# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a reference page takes from a header."""

import unittest

import reference

HEADER = """
#include <other.hpp>

namespace fovea::FOVEA_SET {

/// A table of them.
inline std::vector<int> some_table(index_t count, std::string text = "};") {
    return {count};
}

namespace detail {
inline constexpr int hidden = 1;
}  // namespace detail

template <class T>
inline constexpr bool is_word = false;

/// word: a sentence
/// on two lines.
///
///     kv_idx <= q_idx
///     word(1)    word(2)    in words
///
/// Some text.
/// Shapes: of something, on
/// two lines.
/// Cost: none.
template <class T>
struct word_t {
    T value{};
    int get() const { return 1; }
};

template <class T>
    requires(is_word<T>)
constexpr auto word(T const& value, index_t const (&sizes)[2] = {1, 2}) {
    return word_t<T>{value};
}
template <std::same_as<int> Temporary>
constexpr auto word(Temporary&&) {
    static_assert(never<Temporary>, "fovea: no");
}
inline constexpr word_t<int> other{};

}  // namespace fovea::FOVEA_SET
"""


class Headers(unittest.TestCase):
    def test_comment(self):
        sentence, lines, sections = reference.parse_comment(reference.comment_of(HEADER, "word"), "word")
        self.assertEqual(sentence, "a sentence on two lines.")
        self.assertEqual(lines, ["kv_idx <= q_idx", "word(1)    word(2)    in words"])
        self.assertEqual(sections, [(None, "Some text."), ("Shapes", "of something, on two lines."), ("Cost", "none.")])

    def test_comments_that_make_no_page(self):
        for comment, sentence in {
            "word: no end\n\n    a\n\nCost: none.": "has no end",
            "word: an end.\n\na\n\nCost: none.": "is not indented",
            "word: an end.\nCost: none.": "with empty lines between",
            "word: an end.\n\n    a\n\nShapes: any.": "does not say what it costs",
        }.items():
            with self.subTest(comment), self.assertRaisesRegex(reference.PageError, sentence):
                reference.parse_comment(comment.split("\n"), "word")
        with self.assertRaisesRegex(reference.PageError, "0 comments begin with"):
            reference.comment_of(HEADER, "another")

    def test_options_are_a_sentence_and_calls(self):
        self.assertEqual(
            reference.options_of("p counts from 0; b is 1; .from(n): p counts from n; .of(t, u): t; and u."),
            ("p counts from 0; b is 1.", [(".from(n)", "p counts from n"), (".of(t, u)", "t; and u")]),
        )
        for text in ("nothing but a sentence.", "a sentence; .from(n) without a colon.", ".from(n): without a sentence."):
            with self.subTest(text), self.assertRaisesRegex(reference.PageError, "options are a sentence"):
                reference.options_of(text)

    def test_calls_stand_one_a_line(self):
        self.assertEqual(reference.calls_of("word(1)    word(2)    in words"), ["word(1)", "word(2)  // in words"])

    def test_declarations_are_what_a_user_names(self):
        self.assertEqual(
            reference.signature_of(HEADER, "word"),
            "/// A table of them.\n"
            'inline std::vector<int> some_table(index_t count, std::string text = "};");\n\n'
            "template <class T>\n"
            "    requires(is_word<T>)\n"
            "constexpr auto word(T const& value, index_t const (&sizes)[2] = {1, 2});\n\n"
            "inline constexpr word_t<int> other{};",
        )

    def test_names_and_calls_are_code_and_words_are_links(self):
        names = {path[2:]: path for path in ("a/word_a", "a/plain", "b/word_b")}
        for text, expected in {
            "as word_a and word_b": "as `word_a` and [`word_b`](../b/word_b.md)",
            "a plain text, a `plain` word": "a plain text, a [`plain`](plain.md) word",
            "f(a[i], b) of (head, feature)": "`f(a[i], b)` of (head, feature)",
            "word_b(f(x)) and word_a(1)": "[`word_b(f(x))`](../b/word_b.md) and `word_a(1)`",
            "2 d_k d_v, heads<8>(x)": "2 `d_k d_v`, `heads<8>(x)`",
            "not -inf, 3 - 1, log-sum-exp": "not `-inf`, 3 - 1, log-sum-exp",
            "std::invalid_argument": "`std::invalid_argument`",
        }.items():
            with self.subTest(text):
                self.assertEqual(reference.in_markdown(text, names, "a/word_a"), expected)


if __name__ == "__main__":
    unittest.main()
