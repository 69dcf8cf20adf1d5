// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/interval.hpp>
#include <fovea/expr/analyze.hpp>
#include <fovea/expr/evaluate.hpp>

#include <cstdint>
#include <limits>
#include <type_traits>

namespace fovea::FOVEA_SET {

/// fits_32_bits: whether every integer that an expression comes to on its way is one of 32 bits, by the intervals that
/// an environment gives names and tables.
///
/// Random numbers count with the low halves of their indices, and what a table has for each feature is real: neither
/// asks for more.
template <class E, class Environment>
bool fits_32_bits(E const& e, Environment const& names) {
    if constexpr (is_whole_number<E>) {
        interval<index_t> const range = evaluate(e, names);
        using narrow = std::numeric_limits<std::int32_t>;
        if (range.lo < narrow::min() || range.hi > narrow::max()) return false;
    }
    if constexpr (is_node_of<operations::random, E>) return true;
    else if constexpr (is_node<E>)
        return with_children(e, [&](auto const&... children) { return (fits_32_bits(children, names) && ...); });
    else return true;
}

}  // namespace fovea::FOVEA_SET
