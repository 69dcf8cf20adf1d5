// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an expression is taken for where a value is needed: a sentence each.
#pragma once

#include <fovea/core/diagnose.hpp>
#include <fovea/core/index.hpp>

#include <cstddef>
#include <type_traits>

namespace fovea::FOVEA_SET::detail {

/// What an expression may be tried to convert to and is no class: asked first, since most of what is tried is one.
template <class T>
concept no_class = !std::is_class_v<T>;
template <class T>
inline constexpr bool counts_elements = std::is_same_v<T, std::size_t> || std::is_same_v<T, index_t>;
template <class T>
inline constexpr bool is_other_number =
    std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, double> && !counts_elements<T>;

/// What assignments and increments give: a sentence, and the expression as it was.
template <class E>
constexpr E without_change(E const& e) {
    static_assert(never<E>, "fovea: an expression never changes: give the new one a name: auto const t = s + 1");
    return e;
}

/// The base of what expressions are made of, which have no value while they are built, and never change.
///
/// What compilers say of a deleted function shows the line that deletes it, and nothing of what takes its value. Of the
/// overloads of std::tanh that for double is the only one that an expression converts to.
template <class Expression>
struct without_value {
    template <no_class T>
        requires std::is_same_v<T, double>
    operator T() const = delete;  // fovea: no number yet: write tanh(x), not std::tanh(x), and real(x), not double(x)
    template <no_class T>
        requires counts_elements<T>
    explicit(std::is_signed_v<T>) operator T() const = delete;  // fovea: no number yet: write param(table)[i]
    template <no_class T>
        requires is_other_number<T>
    explicit operator T() const = delete;  // fovea: no number yet: write real(x), not float(x)
    template <no_class B>
        requires std::is_same_v<B, bool>
    explicit constexpr operator B() const {
        static_assert(never<Expression, B>,
                      "fovea: no value is known while an expression is built: use select(condition, a, b)");
        return false;
    }

    template <class Other>
    constexpr Expression operator=(Other const&) const {
        return without_change(static_cast<Expression const&>(*this));
    }
};

}  // namespace fovea::FOVEA_SET::detail
