// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace fovea {

/// What a rejected composition evaluates to: it takes every further stage and every call without a word,
/// so that a mistake is reported once, by the sentence of the static_assert at the door.
struct ill_formed {
    static constexpr bool is_ill_formed = true;
};

/// False, but only once the arguments are known: for a static_assert that rejects a use of a template.
template <class...>
inline constexpr bool never = false;

}  // namespace fovea
