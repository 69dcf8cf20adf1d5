// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/score/compare.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// additive: the score of a small network with one hidden layer, tanh of query plus key.
///
///     s_ij = sum_c v_c tanh(q_ic + k_jc)
///
/// Shapes: query, key and v have the same number of features, the hidden size; project the inputs to it first.
/// Cost: half a division for each feature and pair: tanh becomes a quotient of exponentials, one per side, which are
/// computed once, and two quotients are added by one division. Nothing is materialised.
/// Gradients: of query, key and `v`.
/// Edge cases: features so large that an exponential leaves its range are computed as written.
/// Errors: shape_error where v has another number of features. At compile time, for a temporary, since a view is kept.
/// Source: Bahdanau, Cho and Bengio 2015, appendix A.1.2.
template <class Vector>
constexpr auto additive(Vector&& v) {
    using namespace placeholders;
    return compare(sum(param(std::forward<Vector>(v)) * tanh(q + k)));
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed additive(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
