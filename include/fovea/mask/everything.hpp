// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// everything: a query sees all keys, as it does without a mask: for code that takes one as an argument.
///
///     true
///
/// A mask beside it stays what it is. Cost: none; code for masks is not compiled.
inline constexpr everything_t everything{};

}  // namespace fovea::FOVEA_SET
