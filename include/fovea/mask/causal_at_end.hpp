// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/expr/functions.hpp>
#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// causal_at_end: causal with the last query aligned to the last key (the bottom-right convention).
///
///     kv_idx <= q_idx + (kv_len - q_len)
///
/// What decoding with a cache needs: the queries are the newest positions. With more queries than keys
/// the first queries see nothing and get zeros.
struct causal_at_end_t : stage<role::mask> {
    static constexpr std::string_view name = "causal_at_end";
    constexpr auto predicate() const {
        using namespace placeholders;
        return kv_idx <= q_idx + (kv_len - q_len);
    }
};
inline constexpr causal_at_end_t causal_at_end{};

}  // namespace fovea::FOVEA_SET
