// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/config.hpp>

#include <type_traits>

namespace fovea::FOVEA_SET {

/// What a rejected composition evaluates to: it takes every further stage and every call without a word,
/// so that a mistake is reported once, by the sentence of the static_assert at the door.
struct ill_formed {};

template <class T>
inline constexpr bool is_ill_formed = std::is_same_v<std::remove_cvref_t<T>, ill_formed>;

/// False, but only once the arguments are known: for a static_assert that rejects a use of a template.
template <class...>
inline constexpr bool never = false;

/// What a condition of the language is asked for by `if`, `? :` or `while`: it has no value yet.
template <class E>
constexpr bool value_of_unknown() {
    static_assert(never<E>, "fovea: no value is known while an expression is built: use select(condition, a, b)");
    return false;
}

}  // namespace fovea::FOVEA_SET
