// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A row of a gradient pass for rules that compute with vectors of it.
#pragma once

#include <fovea/core/config.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// in_vectors: a row whose functions are given vectors of scores, weights and gradients, where there are some: f takes
/// numbers and vectors alike.
template <class Row>
decltype(auto) in_vectors(Row&& row) {
    if constexpr (requires { row.vectors(); }) return row.vectors();
    else return std::forward<Row>(row);
}

}  // namespace fovea::FOVEA_SET
