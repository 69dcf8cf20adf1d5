// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/errors.hpp>
#include <fovea/core/index.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET {

namespace detail {
/// The sentences for what is no integer; true for one, and for what converts to one.
template <class Number>
constexpr bool is_integer_argument() {
    constexpr bool converts = std::is_convertible_v<Number, index_t>;
    constexpr bool whole = !std::is_floating_point_v<Number>;
    static_assert(converts, "fovea: this argument is an integer; what was given does not convert to one");
    static_assert(whole, "fovea: this argument is an integer; a real number was given");
    return converts && whole;
}
}  // namespace detail

/// An argument that counts or numbers something: an integer of any type, or what converts to one. A real number would
/// lose its fraction without a word.
///
/// Errors: at compile time for reals and for what is no number; shape_error for unsigned integers above 2^63 - 1.
struct integer_argument {
    index_t value = 0;

    template <class Number>
    constexpr integer_argument(Number const& n) {
        if constexpr (detail::is_integer_argument<Number>()) value = static_cast<index_t>(n);
        if constexpr (std::unsigned_integral<Number> && sizeof(Number) >= sizeof(index_t))
            if (!std::in_range<index_t>(n))
                raise_error(shape_error("an argument is the unsigned integer ", n, ": it is at most 2^63 - 1"));
    }

    constexpr operator index_t() const { return value; }
};

}  // namespace fovea::FOVEA_SET
