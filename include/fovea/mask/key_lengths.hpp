// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/mask/where.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// key_lengths: each sequence of a batch has its own number of keys; what lies behind them is padding.
///
///     kv_idx < length
///     key_lengths(param(lengths)[batch])    key_lengths(lengths)
///
/// Padding is never looked at: it may hold anything. Cost: tiles behind the end are never visited.
/// A length of 0 gives zeros; one beyond the number of keys is all of them.
template <operand Length>
constexpr auto key_lengths(Length const& length) {
    using namespace placeholders;
    return where(kv_idx < as_expression(length));
}
template <class Table>
    requires(!operand<Table>)
constexpr auto key_lengths(Table&& lengths) {
    return key_lengths(param(std::forward<Table>(lengths))[placeholders::batch]);
}

}  // namespace fovea::FOVEA_SET
