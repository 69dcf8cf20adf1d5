// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The operators of expressions, written once for every kind of value: number, pack, interval. Its functions
// are in expr/function_operations.hpp.
#pragma once

#include <fovea/core/interval.hpp>
#include <fovea/expr/scalar.hpp>

#include <string_view>

namespace fovea::FOVEA_SET::operations {

// Binary operators: a symbol, a precedence for printing, and the meaning.
struct plus {
    static constexpr std::string_view symbol = "+";
    static constexpr int precedence = 6;
    template <class A, class B>
    FOVEA_INLINE static constexpr auto apply(A const& a, B const& b) {
        if constexpr (scalar::integers<A, B>) return wrapped_plus(static_cast<index_t>(a), static_cast<index_t>(b));
        else return scalar::like(a, b) + scalar::like(b, a);
    }
};
struct minus {
    static constexpr std::string_view symbol = "-";
    static constexpr int precedence = 6;
    template <class A, class B>
    FOVEA_INLINE static constexpr auto apply(A const& a, B const& b) {
        if constexpr (scalar::integers<A, B>) return wrapped_minus(static_cast<index_t>(a), static_cast<index_t>(b));
        else return scalar::like(a, b) - scalar::like(b, a);
    }
};
struct times {
    static constexpr std::string_view symbol = "*";
    static constexpr int precedence = 7;
    template <class A, class B>
    FOVEA_INLINE static constexpr auto apply(A const& a, B const& b) {
        if constexpr (scalar::integers<A, B>) return wrapped_times(static_cast<index_t>(a), static_cast<index_t>(b));
        else return scalar::like(a, b) * scalar::like(b, a);
    }
};
struct divided {
    static constexpr std::string_view symbol = "/";
    static constexpr int precedence = 7;
    template <class A, class B>
    FOVEA_INLINE static constexpr auto apply(A const& a, B const& b) {
        if constexpr (scalar::numbers<A, B>) return scalar::divide(a, b);
        else return a / b;
    }
};
struct modulo {
    static constexpr std::string_view symbol = "%";
    static constexpr int precedence = 7;
    template <class A, class B>
    FOVEA_INLINE static constexpr auto apply(A const& a, B const& b) {
        if constexpr (scalar::numbers<A, B>) return scalar::modulo(a, b);
        else return a % b;
    }
};
struct less {
    static constexpr std::string_view symbol = "<";
    static constexpr int precedence = 4;
    FOVEA_INLINE static constexpr auto apply(auto const& a, auto const& b) {
        return scalar::like(a, b) < scalar::like(b, a);
    }
};
struct less_equal {
    static constexpr std::string_view symbol = "<=";
    static constexpr int precedence = 4;
    FOVEA_INLINE static constexpr auto apply(auto const& a, auto const& b) {
        return scalar::like(a, b) <= scalar::like(b, a);
    }
};
struct greater {
    static constexpr std::string_view symbol = ">";
    static constexpr int precedence = 4;
    FOVEA_INLINE static constexpr auto apply(auto const& a, auto const& b) {
        return scalar::like(a, b) > scalar::like(b, a);
    }
};
struct greater_equal {
    static constexpr std::string_view symbol = ">=";
    static constexpr int precedence = 4;
    FOVEA_INLINE static constexpr auto apply(auto const& a, auto const& b) {
        return scalar::like(a, b) >= scalar::like(b, a);
    }
};
struct equal {
    static constexpr std::string_view symbol = "==";
    static constexpr int precedence = 3;
    template <class A, class B>
    FOVEA_INLINE static constexpr auto apply(A const& a, B const& b) {
        if constexpr (detail::interval_operands<A, B>) return may_equal(a, b);
        else return scalar::like(a, b) == scalar::like(b, a);
    }
};
struct not_equal {
    static constexpr std::string_view symbol = "!=";
    static constexpr int precedence = 3;
    FOVEA_INLINE static constexpr auto apply(auto const& a, auto const& b) { return !equal::apply(a, b); }
};
struct logical_and {
    static constexpr std::string_view symbol = "&&";
    static constexpr int precedence = 2;
    FOVEA_INLINE static constexpr auto apply(auto const& a, auto const& b) { return a && b; }
};
struct logical_or {
    static constexpr std::string_view symbol = "||";
    static constexpr int precedence = 1;
    FOVEA_INLINE static constexpr auto apply(auto const& a, auto const& b) { return a || b; }
};

// Unary operators.
struct negate {
    static constexpr std::string_view symbol = "-";
    static constexpr int precedence = 8;
    FOVEA_INLINE static constexpr auto apply(auto const& a) {
        if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(a)>>) return scalar::negate(a);
        else return -a;
    }
};
struct logical_not {
    static constexpr std::string_view symbol = "!";
    static constexpr int precedence = 8;
    FOVEA_INLINE static constexpr auto apply(auto const& a) { return !a; }
};

}  // namespace fovea::FOVEA_SET::operations
