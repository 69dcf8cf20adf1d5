# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What formulas of header comments become in TeX."""

import unittest

from formulas import FormulaError, is_formula, to_tex


class Formulas(unittest.TestCase):
    def test_an_index_has_one_or_two_letters(self):
        self.assertEqual(to_tex("s_ij = q_i k_j"), "s_{ij} = q_{i} k_{j}")
        self.assertEqual(to_tex("q_idx = leaky_relu"), r"\mathtt{q\_idx} = \mathtt{leaky\_relu}")

    def test_a_quotient_takes_the_whole_product_and_the_next_factor(self):
        self.assertEqual(to_tex("w = a b / c + d"), r"w = \frac{a b}{c} + d")
        self.assertEqual(to_tex("w = a / sum_k b_k"), r"w = \frac{a}{\sum_{k} b_{k}}")
        self.assertEqual(to_tex("w = (a + b) / (c + d)"), r"w = \frac{a + b}{c + d}")
        self.assertEqual(to_tex("w = a^(1 / n)"), "w = a^{1 / n}")

    def test_a_sum_applies_to_the_product_after_it(self):
        self.assertEqual(to_tex("s = sum_c q_c k_c / sqrt(d)"), r"s = \frac{\sum_{c} q_{c} k_{c}}{\sqrt{d}}")
        self.assertEqual(to_tex("w = s / (1 + sum_k |s_k|)"), r"w = \frac{s}{1 + \sum_{k} \left| s_{k} \right|}")

    def test_functions_take_what_follows_without_parentheses(self):
        self.assertEqual(to_tex("y = x cos a - y sin a"), r"y = x \cos a - y \sin a")
        self.assertEqual(to_tex("H = -w log w"), r"H = -w \log w")
        self.assertEqual(
            to_tex("y = cap tanh(s / cap)"), r"y = \mathrm{cap} \tanh\left( \frac{s}{\mathrm{cap}} \right)"
        )

    def test_side_by_side_is_a_product_and_adjacent_a_call(self):
        self.assertEqual(to_tex("y = g (a - b)"), "y = g (a - b)")
        self.assertEqual(to_tex("y = g(a - b)_c^2"), "y = g(a - b)_{c}^{2}")
        self.assertEqual(to_tex("y = b[..., q_idx]"), r"y = b[\ldots, \mathtt{q\_idx}]")

    def test_text_and_formulas_beside_each_other(self):
        self.assertEqual(
            to_tex("w_j = 1 for the first j, else 0"), r"w_{j} = 1 \text{ for the first } j, \text{ else } 0"
        )
        self.assertEqual(to_tex("a = b,   S += c"), r"a = b, \quad S \mathrel{+}= c")
        self.assertEqual(to_tex("(x, y) -> (y, x)"), r"(x, y) \to (y, x)")

    def test_what_is_not_understood_is_said(self):
        for formula, sentence in {
            "a = (b": "lacks ')'",
            "a = b)": "lacks a term before ')'",
            "a = b # c": "'# c' of the formula",
            "a = / b": "lacks a term before '/'",
            "a = b +": "lacks a term before its end",
            "a = sum_": "lacks an index",
        }.items():
            with self.subTest(formula), self.assertRaisesRegex(FormulaError, sentence.replace(")", r"\)")):
                to_tex(formula)

    def test_conditions_and_calls_are_code(self):
        self.assertTrue(is_formula("w_j = s_j"))
        self.assertTrue(is_formula("S += k_j"))
        self.assertFalse(is_formula("kv_idx <= q_idx  &&  a == b  ||  c != d"))
        self.assertFalse(is_formula("rescore([](auto score) { return score; })"))


if __name__ == "__main__":
    unittest.main()
