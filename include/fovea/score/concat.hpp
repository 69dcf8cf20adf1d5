// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/score/compare.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// concat: a small network on query and key side by side, of which the projections are one half each.
///
///     s_ij = sum_c v_c activation((W [q_i ; k_j] + b)_c) = sum_c v_c activation(u_ic + w_jc)
///     project(Wq, linear(Wk, b), as_is) | concat(v)             with tanh
///     project(Wq, Wk, as_is) | concat(v, [](auto h) { return relu(h); })
///
/// W = [Wq Wk] acts on query and key apart, so it goes into their projections; what is left is a sum over the hidden
/// features. Cost: one activation for each hidden feature and pair; of tanh, a division.
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

}  // namespace fovea::FOVEA_SET
