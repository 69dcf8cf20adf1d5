# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tracing understands, and the sentence for each wrong use."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from spellings import FEATURES, K, Q, V
from variants import relative, slopes, table, temperatures, vector

import fovea


def text_of(function: Callable[..., Any]) -> str:
    return fovea.kernel(function).text.removesuffix(" | softmax | weighted_sum")


def test_operators_are_those_of_the_language() -> None:
    assert text_of(lambda i, j: fovea.dot | fovea.where(~(j > i) | (j // 4 == 0)) | fovea.softmax) == (
        "dot | where(!(kv_idx > q_idx) || floor_div(kv_idx, 4) == 0)"
    )
    assert text_of(lambda score, i, j: score - (i - j) / 4 | fovea.softmax) == (
        "scaled_dot | rescore(score - real(q_idx - kv_idx) / 4)"
    )
    assert text_of(lambda q, k, dim: q[:8] @ k[:8] / dim**0.5 | fovea.softmax) == (
        "compare(sum(q * k, features(0, 8)) / sqrt(dim))"
    )
    assert text_of(lambda score: np.where(score < 0, 0.1 * score, score**2) | fovea.softmax) == (
        "scaled_dot | rescore(select(score < 0, 0.1 * score, square(score)))"
    )
    assert text_of(lambda score: -(score - 1) - (2 - (score - np.float32(0.5))) | fovea.softmax) == (
        "scaled_dot | rescore(-(score - 1) - (2 - (score - 0.5)))"
    )
    assert text_of(lambda s, b, i: s + np.arange(3)[1] | fovea.where(i < np.int64(2**40)) | fovea.softmax) == (
        "scaled_dot | rescore(score + 1) | where(q_idx < index_t{1099511627776})"
    )


def test_numbers_of_numpy_are_numbers() -> None:
    assert repr(np.float32(0.5) < fovea.score) == "score > 0.5"
    assert repr(np.int64(3) - fovea.q_idx) == "3 - q_idx"
    assert repr(fovea.q_idx != np.uint8(3)) == "q_idx != 3"
    assert repr(np.float64(2) * fovea.score) == "2.0 * score"


def test_functions_of_torch_are_known_by_their_names() -> None:
    e = fovea.score

    def of_torch(name: str, *inputs: Any, **keywords: Any) -> str:
        function = SimpleNamespace(__name__=name)
        return repr(type(e).__torch_function__(function, (), inputs, keywords))

    assert of_torch("tanh", e) == "tanh(score)"
    assert of_torch("__rsub__", e, 1) == "1 - score"
    assert of_torch("where", e > 0, e, 0.0) == "select(score > 0, score, 0.0)"
    assert of_torch("clamp", e, min=-1, max=1) == "min(max(score, -1), 1)"
    with pytest.raises(fovea.ArgumentError, match=r"torch\.cumsum is not in the language of kernels, which has "):
        of_torch("cumsum", e)


def test_numbers_stand_in_the_text_as_they_are_now() -> None:
    window = 4

    @fovea.kernel
    def mine(i, j):
        return fovea.dot | fovea.where(i - j < window) | fovea.softmax

    assert "< 4" in mine.text
    window = 5
    assert "< 5" in mine.text


def test_parameters_are_passed_by_the_caller() -> None:
    def with_cap(score):
        return score + cap[0] * 0

    cap = np.zeros(1, np.float32)

    @fovea.kernel
    def mine(q, k, cap=2.0):
        return (vector @ np.tanh(q + k)) / cap + with_cap(vector @ q) * 0 | fovea.softmax

    assert mine.text.count("param(cap_)[0]") == 1 and "/ cap " in mine.text
    assert [a.parameter for a in mine.trace().arguments.values()] == [None, "cap", None]
    with pytest.raises(fovea.ArgumentError, match="the call of mine does not take cup: it takes cap"):
        mine(Q, K, V, cup=1)
    with pytest.raises(fovea.ArgumentError, match="cap is of type str, it must be a table, a number or a graph"):
        mine(Q, K, V, cap="x")


def test_what_lies_in_an_object_is_read_at_each_call() -> None:
    held = SimpleNamespace(window=4, slopes=slopes)

    @fovea.kernel
    def mine(score, head, i, j):
        return score + fovea.param(held.slopes)[head] | fovea.where(i - j < held.window) | fovea.softmax

    assert "< 4" in mine.text
    held.window, held.slopes = 5, temperatures
    assert "< 5" in mine.text
    assert mine.trace().arguments["table"].read() is temperatures


causal = SimpleNamespace()  # of the same name as a word, which is an attribute


def test_names_of_attributes_are_no_variables() -> None:
    mine = fovea.kernel(lambda: fovea.dot | fovea.causal | fovea.softmax)
    assert not mine.trace().captured.may_change and mine.trace() is mine.trace()


def test_a_kernel_has_its_text_where_arguments_do_not_lack() -> None:
    assert repr(fovea.kernel(lambda score, by: score / by | fovea.softmax)) == "<kernel kernel>"
    assert repr(fovea.kernel(fovea.dot | fovea.softmax)) == "<kernel kernel: dot | softmax | weighted_sum>"


def test_names_give_way_to_words() -> None:
    softmax = slopes
    _T = slopes + 1

    @fovea.kernel
    def mine(score, head, key=temperatures):
        return score + softmax[head] + key[head] | fovea.sparsemax

    assert text_of(lambda s, h: s + _T[h] | fovea.softmax) == "scaled_dot | rescore(score + param(T_)[head])"
    by_default = text_of(lambda: fovea.dot | fovea.rescore(lambda s, h, t=slopes: s + t[h]) | fovea.softmax)
    assert by_default == "dot | rescore(score + param(slopes)[head])"

    assert mine.text == (
        "scaled_dot | rescore(score + param(softmax_)[head] + param(key_)[head]) | sparsemax | weighted_sum"
    )
    assert mine.definition.startswith(
        'takes<"softmax_(softmax__axis_0), key_(key__axis_0)">([]<class T>(view<T const, 1> softmax_, '
    )


# --- each wrong use has a sentence ---


def refused(function: Callable[..., Any], sentence: str, error: type[Exception] = fovea.ArgumentError) -> None:
    with pytest.raises(error) as caught:
        fovea.kernel(function).trace()
    assert sentence in str(caught.value)


def test_the_if_of_python_is_refused() -> None:
    def mine(score, i, j):
        if j > i:
            score = score - 1
        return score | fovea.softmax

    refused(mine, "write fovea.select(condition, a, b) for `if`")
    refused(lambda i, j: fovea.dot | fovea.where(j <= i and i - j < 4) | fovea.softmax, "and & | ~ with parentheses")
    refused(lambda i, j: fovea.dot | fovea.where(not j <= i) | fovea.softmax, "`and`, `or`, `not`")
    refused(lambda i, j: fovea.dot | fovea.where(0 <= i - j < 4) | fovea.softmax, "chains such as a < b < c")
    refused(lambda score: max(score, 0) | fovea.softmax, "neither true nor false")


def test_functions_of_math_are_refused() -> None:
    refused(lambda score: math.tanh(score) | fovea.softmax, "write np.tanh, torch.tanh or fovea.tanh for math.tanh")
    refused(lambda score, i: score + [1, 2][i] | fovea.softmax, "has no number while a kernel is traced")


def test_what_the_language_does_not_have_is_refused() -> None:
    refused(lambda score: np.sinc(score) | fovea.softmax, "is not in the language of kernels, which has")
    refused(lambda score: np.spacing(score) | fovea.softmax, "np.spacing is not in the language of kernels")
    refused(lambda score, i: score * (i == 3) | fovea.softmax, "a condition is not a number: write fovea.select")
    refused(lambda score, i: score | (i == 3) | fovea.softmax, "& | ^ and ~ are between conditions")
    refused(lambda i: fovea.where(i & 3) | fovea.softmax, "& | ^ and ~ are between conditions")
    refused(lambda score, i: score // 2 | fovea.softmax, "// is between integers")
    refused(lambda score, x: score | fovea.softmax, "the call of kernel lacks x: it takes x")
    refused(lambda score: score, "it must be a specification: score | fovea.softmax")
    refused(lambda: fovea.dot | fovea.rescore(lambda s, x: s) | fovea.softmax, "has the parameter x, it must be one of")


def test_wrong_indices_are_refused() -> None:
    of_a_list = [slopes]
    refused(lambda s, head: s + of_a_list[0][head] | fovea.softmax, "write fovea.param(table)[head]")
    twice = "slopes has 1 axis and is read at 2 expressions"
    refused(lambda s, head, i: s + slopes[head, i] | fovea.softmax, twice, fovea.ShapeError)
    refused(lambda s, head: s + slopes[s] | fovea.softmax, "an index of slopes is score, it must be an integer")
    refused(lambda s, i: s + table[:, i] | fovea.softmax, "table is read in whole rows or at an index for each axis")
    refused(lambda s: s + slopes | fovea.softmax, "has 1 axis without an index: index it, such as", fovea.ShapeError)
    refused(lambda: fovea.dot | fovea.temperature(slopes) | fovea.softmax, "1 axis without", fovea.ShapeError)
    refused(lambda q, k: fovea.sum(table * q * k) | fovea.softmax, "a table in a sum has 2 axes", fovea.ShapeError)
    refused(lambda s: s + len(slopes) | fovea.softmax, "write slopes.shape[0]")
    assert fovea.kernel(lambda s, head: s + fovea.param(of_a_list[0])[head] | fovea.softmax).text.startswith(
        "scaled_dot | rescore(score + param(table)[head])"
    )
