// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/expr/literal.hpp>
#include <fovea/expr/operations.hpp>
#include <fovea/expr/param.hpp>

namespace fovea::FOVEA_SET {

/// True where an expression is a condition rather than a number.
template <class E>
inline constexpr bool is_condition = false;
template <>
inline constexpr bool is_condition<literal<bool>> = true;
template <>
inline constexpr bool is_condition<always_t> = true;
template <int Rank, class... Indices>
inline constexpr bool is_condition<node<at_operation, parameter<bool, Rank>, Indices...>> = true;
template <class Operation, class... Operands>
    requires(std::is_same_v<Operation, operations::less> || std::is_same_v<Operation, operations::less_equal>
             || std::is_same_v<Operation, operations::greater> || std::is_same_v<Operation, operations::greater_equal>
             || std::is_same_v<Operation, operations::equal> || std::is_same_v<Operation, operations::not_equal>
             || std::is_same_v<Operation, operations::logical_and> || std::is_same_v<Operation, operations::logical_or>
             || std::is_same_v<Operation, operations::logical_not>)
inline constexpr bool is_condition<node<Operation, Operands...>> = true;

}  // namespace fovea::FOVEA_SET
