// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/spec/fixed_order.hpp>

namespace fovea::FOVEA_SET {

inline constexpr batch_invariant_t batch_invariant{};

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
