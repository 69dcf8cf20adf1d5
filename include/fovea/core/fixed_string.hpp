// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/config.hpp>

#include <cstddef>
#include <string_view>

namespace fovea::FOVEA_SET {

/// A string as a template argument: the symbol of an operation, the name of a placeholder.
template <std::size_t Size>
struct fixed_string {
    char text[Size]{};

    consteval fixed_string(char const (&characters)[Size]) {
        for (std::size_t i = 0; i < Size; ++i) text[i] = characters[i];
    }
    constexpr std::string_view view() const { return {text, Size - 1}; }
    constexpr operator std::string_view() const { return view(); }
};

}  // namespace fovea::FOVEA_SET
