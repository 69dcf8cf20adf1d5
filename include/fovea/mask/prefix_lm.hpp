// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/mask/where.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// prefix_lm: every query sees a prefix; what follows it is causal.
///
///     kv_idx < prefix  ||  kv_idx <= q_idx
///     prefix_lm(128)    prefix_lm(prefixes)    prefix_lm(param(prefixes)[batch])
///
/// Shapes: the prefix is a number, a table (batch) of integers, kept as a view, or an expression of batch and head.
/// Cost: tiles above the diagonal and after the prefix are never visited.
/// Edge cases: 0 or below is `causal`; with the number of keys or more, all pairs are visible.
/// Errors: shape_error where a table of prefixes has fewer elements than the call reads.
/// Source: Raffel et al. 2020, section 3.2.1.
template <class Prefix>
constexpr auto prefix_lm(Prefix&& prefix) {
    using namespace placeholders;
    return where(kv_idx < detail::computed_or_table(std::forward<Prefix>(prefix), batch) || kv_idx <= q_idx);
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed prefix_lm(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
