// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/mask/where.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// key_lengths: each sequence of a batch has its own number of keys; the rest is padding.
///
///     kv_idx < length
///     key_lengths(lengths)    key_lengths(param(lengths)[batch])
///
/// Shapes: `lengths` is (batch), integers, kept as a view; or an expression of batch and head.
/// Cost: tiles beyond the end of a sequence are never visited.
/// Edge cases: padding may hold anything, NaN included. A length of 0 or below gives zeros; a length beyond the number
/// of keys includes all of them, so that one table serves calls with fewer keys.
/// Errors: shape_error where there are fewer lengths than sequences.
template <class Length>
constexpr auto key_lengths(Length&& length) {
    using namespace placeholders;
    return where(kv_idx < detail::computed_or_table(std::forward<Length>(length), batch));
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed key_lengths(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
