// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/errors.hpp>
#include <fovea/core/index.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET {

namespace detail {
/// The sentence for a real number; true for others.
template <class Number>
constexpr bool is_integer_argument() {
    constexpr bool whole = !std::is_floating_point_v<Number>;
    static_assert(whole, "fovea: this argument is an integer; a real number was given");
    return whole;
}
}  // namespace detail

/// An argument that counts or numbers something: an integer of any type, or what converts to one. A real number would
/// lose its fraction without a word.
///
/// Errors: at compile time for reals; shape_error for unsigned integers above 2^63 - 1.
struct integer_argument {
    index_t value;

    template <std::convertible_to<index_t> Number>
    constexpr integer_argument(Number const& n) : value(static_cast<index_t>(n)) {
        static_cast<void>(detail::is_integer_argument<Number>());
        if constexpr (std::unsigned_integral<Number> && sizeof(Number) >= sizeof(index_t))
            if (!std::in_range<index_t>(n))
                throw shape_error("an argument is the unsigned integer ", n, ": it is at most 2^63 - 1");
    }

    constexpr operator index_t() const { return value; }
};

}  // namespace fovea::FOVEA_SET
