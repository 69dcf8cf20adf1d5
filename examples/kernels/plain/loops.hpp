// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "kernels/calls/operands.hpp"

#include <string_view>

/// plain: each kernel as one writes it first, a few nested loops that store a row of scores. What fusion, tiles and
/// vectors gain is told by these, compiled with the same flags as the kernels.
namespace plain {

template <class Element>
using loop = void (*)(calls::operands<Element>&);

/// The loop of a kernel; null where there is none.
template <class Element>
loop<Element> loop_of(std::string_view kernel);

/// Of those alone that make no rows of all keys: over edges, and with a running state.
loop<float> special_loop_of(std::string_view kernel);

}  // namespace plain
