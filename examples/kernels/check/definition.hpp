// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "kernels/calls/operands.hpp"

#include <fovea/core/tensor.hpp>

#include <string_view>
#include <type_traits>

namespace check {

/// The type of the definition: wider than that of the kernel.
template <class Element>
using exact = std::conditional_t<std::is_same_v<Element, double>, long double, double>;

/// The result of a kernel by its definition, reference::attend, computed in Real. Errors: std::invalid_argument where
/// the kernel is none of the set.
template <class Real, class Element>
fovea::tensor<Real, 4> result_by_definition(std::string_view kernel, calls::operands<Element>& o);

}  // namespace check
