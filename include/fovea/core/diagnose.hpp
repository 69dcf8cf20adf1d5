// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/config.hpp>

#include <type_traits>

namespace fovea::FOVEA_SET {

/// The value of a rejected composition: it takes every further stage and every call without a word,
/// so that a mistake is reported once, by the sentence of the static_assert at the door.
struct ill_formed {};

template <class T>
inline constexpr bool is_ill_formed = std::is_same_v<std::remove_cvref_t<T>, ill_formed>;

/// False, but only once the arguments are known: for a static_assert that rejects a use of a template.
template <class...>
inline constexpr bool never = false;

namespace detail {
/// The sentence of a word that is given another number of arguments than it takes, or is named without any.
template <class... Arguments>
constexpr ill_formed refuse_arguments() {
    constexpr bool none = sizeof...(Arguments) == 0;
    static_assert(!none, "fovea: this word takes arguments: write them in parentheses after it");
    static_assert(none, "fovea: this word takes another number of arguments: its reference page says which");
    return {};
}
}  // namespace detail

}  // namespace fovea::FOVEA_SET
