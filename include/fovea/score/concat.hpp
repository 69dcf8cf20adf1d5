// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/score/compare.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// concat: a small network on query and key side by side; each projection is one half of its matrix.
///
///     s_ij = sum_c v_c activation((W [q_i; k_j] + b)_c),   W = [W_q, W_k]
///     project(Wq, linear(Wk, b), as_is) | concat(v)    concat(v, [](auto h) { return relu(h); })
///
/// Shapes: `v` is (hidden), kept as a view; query and key are projected to the hidden size.
/// Cost: one activation for each hidden feature and pair, never stored; for tanh, half a division instead.
/// Gradients: of query, key and `v`.
/// Edge cases: the activation is any function of expressions; the default is tanh, which makes the score `additive`.
/// Errors: shape_error where v has another number of features.
/// Source: Luong, Pham and Manning 2015, equation 8, concat.
template <class Vector, class Activation>
constexpr auto concat(Vector&& v, Activation const& activation) {
    using namespace placeholders;
    return compare(sum(param(std::forward<Vector>(v)) * activation(q + k)));
}
template <class Vector>
constexpr auto concat(Vector&& v) {
    return concat(std::forward<Vector>(v), [](auto const& hidden) { return tanh(hidden); });
}
template <class... Others>
    requires(sizeof...(Others) != 1 && sizeof...(Others) != 2)
constexpr ill_formed concat(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
