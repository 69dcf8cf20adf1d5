// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/expr/operators.hpp>

namespace fovea::FOVEA_SET {

/// The indices a traced function receives beside the score.
struct indices_t {
    q_idx_t q_idx;
    kv_idx_t kv_idx;
    head_t head;
    batch_t batch;
};

namespace detail {
template <class F, class... Placeholders>
concept gives_expression = requires(F const& f, Placeholders... names) {
    { f(names...) } -> expression;
};
}  // namespace detail

/// A score for trace: a function of (score, indices), or of (score, b, h, q_idx, kv_idx) as score_mod is.
template <class F>
concept traceable_score = detail::gives_expression<F, score_t, indices_t>
                       || detail::gives_expression<F, score_t, batch_t, head_t, q_idx_t, kv_idx_t>;
/// A mask for trace: a function of indices, or of (b, h, q_idx, kv_idx) as mask_mod is.
template <class F>
concept traceable_mask =
    detail::gives_expression<F, indices_t> || detail::gives_expression<F, batch_t, head_t, q_idx_t, kv_idx_t>;

/// trace: a generic lambda as an expression, by calling it once with placeholders.
///
///     trace_score([](auto s, auto at) { return s + 2 * (at.kv_idx - at.q_idx); })
///     trace_score([](auto s, auto b, auto h, auto q_idx, auto kv_idx) { return s + 2 * (kv_idx - q_idx); })
///     trace_mask([](auto at) { return at.kv_idx <= at.q_idx; })
///     trace_mask([](auto b, auto h, auto q_idx, auto kv_idx) { return kv_idx <= q_idx; })
///
/// The lambda runs while the attention is composed and never again; what it returns is the expression. Parameters one
/// by one stand in the order of FlexAttention, so that its functions are taken over as they are.
template <traceable_score F>
constexpr auto trace_score(F const& f) {
    if constexpr (detail::gives_expression<F, score_t, indices_t>) return f(score_t{}, indices_t{});
    else return f(score_t{}, batch_t{}, head_t{}, q_idx_t{}, kv_idx_t{});
}

template <traceable_mask F>
constexpr auto trace_mask(F const& f) {
    if constexpr (detail::gives_expression<F, indices_t>) return f(indices_t{});
    else return f(batch_t{}, head_t{}, q_idx_t{}, kv_idx_t{});
}

}  // namespace fovea::FOVEA_SET
