// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// everything: a query sees all keys, as without a mask: for code that takes a mask as an argument.
///
///     true
///
/// Cost: none, no mask code is compiled.
/// Edge cases: combined with another mask, it changes nothing.
inline constexpr everything_t everything{};

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
