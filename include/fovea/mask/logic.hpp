// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/mask/where.hpp>

namespace fovea {

/// Masks combine like conditions: both, either, not.
///
///     causal && sliding_window(256, 0)      causal || where(kv_idx < prefix)      !causal
///
/// The result is a mask whose predicate is the combined expression, so tiles are still read from it.
template <mask A, mask B>
constexpr auto operator&&(A const& a, B const& b) {
    return where(a.predicate() && b.predicate());
}
template <mask A, mask B>
constexpr auto operator||(A const& a, B const& b) {
    return where(a.predicate() || b.predicate());
}
template <mask A>
constexpr auto operator!(A const& a) {
    return where(!a.predicate());
}

}  // namespace fovea
