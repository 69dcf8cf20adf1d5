// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/integer_argument.hpp>
#include <fovea/mask/where.hpp>

namespace fovea::FOVEA_SET {

/// chunked: positions are cut into chunks of equal size; a query sees the keys of its own chunk.
///
///     q_idx / size == kv_idx / size
///
/// Shapes: `size` is a number of positions.
/// Cost: linear in the number of queries: tiles across two chunks are never visited, tiles within one are not masked.
/// Edge cases: the last chunk may be shorter. With a size of 1 a query sees the key at its own position.
/// Errors: std::invalid_argument for a size below 1.
/// Source: Child et al. 2019, section 4.2, the local part.
constexpr auto chunked(integer_argument size) {
    using namespace placeholders;
    detail::require_1_or_more("chunked: size", size.value);
    return where(q_idx / size.value == kv_idx / size.value);
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed chunked(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
