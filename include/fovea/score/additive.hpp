// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/score/compare.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// additive: the score of a small network with one hidden layer, tanh of query plus key.
///
///     s_ij = sum_c v_c tanh(q_ic + k_jc)
///
/// Query, key and `v` have the same number of features (the hidden size); project the inputs to it first.
/// Cost: one tanh per feature and pair; never materialised.
/// Source: Bahdanau, Cho and Bengio 2015, appendix A.1.2.
template <class Vector>
constexpr auto additive(Vector&& v) {
    using namespace placeholders;
    return compare(sum(param(std::forward<Vector>(v)) * tanh(q + k)));
}

}  // namespace fovea::FOVEA_SET
