// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/score/compare.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// key_only: a score that each key has by itself, the same for all queries.
///
///     s_j = sum_c v_c k_jc
///     key_only(v) | softmax | weighted_sum        pooling with learned attention
///
/// v is (feature). Cost: one number for each key, none for a pair beside softmax.
/// Source: Yang et al. 2016, equation 6, without the hidden layer.
template <class Vector>
constexpr auto key_only(Vector&& v) {
    using namespace placeholders;
    return compare(sum(param(std::forward<Vector>(v)) * k));
}

}  // namespace fovea::FOVEA_SET
