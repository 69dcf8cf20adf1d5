// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// residual: the result is added to the source of the queries.
///
///     E' = E + attention(E)
///
/// The result must have as many features as that source. Errors: shape_error otherwise.
struct residual_t : stage<role::finish> {
    static constexpr std::string_view name = "residual";
    static constexpr bool adds_source = true;
};
inline constexpr residual_t residual{};

}  // namespace fovea::FOVEA_SET
