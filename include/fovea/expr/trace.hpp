// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/expr/operators.hpp>

#include <concepts>

namespace fovea {

/// The indices a traced function receives beside the score.
struct indices_t {
    q_idx_t q_idx;
    kv_idx_t kv_idx;
    head_t head;
    batch_t batch;
};

/// trace: a generic lambda as an expression, by calling it once with placeholders.
///
///     trace_score([](auto s, auto at) { return s + 2 * (at.kv_idx - at.q_idx); })
///     trace_mask([](auto at) { return at.kv_idx <= at.q_idx; })
///
/// The lambda runs while the attention is composed and never again; what it returns is the expression.
template <class F>
    requires expression<std::invoke_result_t<F const&, score_t, indices_t>>
constexpr auto trace_score(F const& f) {
    return f(score_t{}, indices_t{});
}

template <class F>
    requires expression<std::invoke_result_t<F const&, indices_t>>
constexpr auto trace_mask(F const& f) {
    return f(indices_t{});
}

}  // namespace fovea
