// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of expressions: a name, and the meaning in terms of the value's own arithmetic, written once
// for every kind of value: number, pack, interval.
//
// takes_reals: an integer becomes a real before the function is computed. is_approximated: that too, and the result is
// not the correctly rounded one, so that vectors and <cmath> differ.
#pragma once

#include <fovea/core/interval_functions.hpp>
#include <fovea/expr/operations.hpp>
#include <fovea/expr/scalar.hpp>

#include <string_view>

namespace fovea::FOVEA_SET::operations {

/// Division rounded down, of integers: what `/` is between integers, for where the quotient becomes a real.
struct floor_div {
    static constexpr std::string_view name = "floor_div";
    FOVEA_INLINE static constexpr auto apply(auto const& a, auto const& b) { return divided::apply(a, b); }
};
/// An integer as a real.
struct real {
    static constexpr std::string_view name = "real";
    static constexpr bool takes_reals = true;
    FOVEA_INLINE static constexpr auto apply(auto const& a) {
        using scalar::to_real;
        return to_real(a);
    }
};
struct min {
    static constexpr std::string_view name = "min";
    FOVEA_INLINE static constexpr auto apply(auto const& a, auto const& b) {
        using scalar::min;
        return min(a, b);
    }
};
struct max {
    static constexpr std::string_view name = "max";
    FOVEA_INLINE static constexpr auto apply(auto const& a, auto const& b) {
        using scalar::max;
        return max(a, b);
    }
};
struct select {
    static constexpr std::string_view name = "select";
    FOVEA_INLINE static constexpr auto apply(auto const& condition, auto const& a, auto const& b) {
        using scalar::select;
        return select(condition, a, b);
    }
};
struct abs {
    static constexpr std::string_view name = "abs";
    FOVEA_INLINE static constexpr auto apply(auto const& a) {
        using scalar::abs;
        return abs(a);
    }
};
struct square {
    static constexpr std::string_view name = "square";
    FOVEA_INLINE static constexpr auto apply(auto const& a) {
        using scalar::square;
        return square(a);
    }
};
struct exp {
    static constexpr std::string_view name = "exp";
    static constexpr bool is_approximated = true;
    FOVEA_INLINE static constexpr auto apply(auto const& a) {
        using scalar::exp;
        return exp(a);
    }
};
struct log {
    static constexpr std::string_view name = "log";
    static constexpr bool is_approximated = true;
    FOVEA_INLINE static constexpr auto apply(auto const& a) {
        using scalar::log;
        return log(a);
    }
};
struct tanh {
    static constexpr std::string_view name = "tanh";
    static constexpr bool is_approximated = true;
    FOVEA_INLINE static constexpr auto apply(auto const& a) {
        using scalar::tanh;
        return tanh(a);
    }
};
struct erf {
    static constexpr std::string_view name = "erf";
    static constexpr bool is_approximated = true;
    FOVEA_INLINE static constexpr auto apply(auto const& a) {
        using scalar::erf;
        return erf(a);
    }
};
struct sqrt {
    static constexpr std::string_view name = "sqrt";
    static constexpr bool takes_reals = true;
    FOVEA_INLINE static constexpr auto apply(auto const& a) {
        using scalar::sqrt;
        return sqrt(a);
    }
};
struct rsqrt {
    static constexpr std::string_view name = "rsqrt";
    static constexpr bool takes_reals = true;
    FOVEA_INLINE static constexpr auto apply(auto const& a) { return 1 / sqrt::apply(a); }
};
struct sigmoid {
    static constexpr std::string_view name = "sigmoid";
    static constexpr bool is_approximated = true;
    FOVEA_INLINE static constexpr auto apply(auto const& a) { return 1 / (1 + exp::apply(negate::apply(a))); }
};
struct silu {
    static constexpr std::string_view name = "silu";
    static constexpr bool is_approximated = true;
    FOVEA_INLINE static constexpr auto apply(auto const& a) { return a * sigmoid::apply(a); }
};
struct gelu {
    static constexpr std::string_view name = "gelu";
    static constexpr bool is_approximated = true;
    static constexpr double sqrt_half = 0.70710678118654752440;
    FOVEA_INLINE static constexpr auto apply(auto const& a) {
        return times::apply(times::apply(0.5, a), plus::apply(1.0, erf::apply(times::apply(sqrt_half, a))));
    }
};
struct relu {
    static constexpr std::string_view name = "relu";
    FOVEA_INLINE static constexpr auto apply(auto const& a) {
        using scalar::positive_part;
        return positive_part(a);
    }
};
struct leaky_relu {
    static constexpr std::string_view name = "leaky_relu";
    static constexpr bool takes_reals = true;
    FOVEA_INLINE static constexpr auto apply(auto const& a, auto const& slope) {
        return plus::apply(relu::apply(a), times::apply(slope, min::apply(a, 0)));
    }
};
struct elu {
    static constexpr std::string_view name = "elu";
    static constexpr bool is_approximated = true;
    FOVEA_INLINE static constexpr auto apply(auto const& a) {
        return plus::apply(relu::apply(a), exp::apply(min::apply(a, 0)) - 1);
    }
};

// A random number for each pair: of a seed, batch, head, query and key.
struct random {
    static constexpr std::string_view name = "random";
    FOVEA_INLINE static constexpr auto apply(auto const& seed, auto const& b, auto const& h, auto const& q,
                                             auto const& k) {
        using scalar::uniform_of_pair;
        return uniform_of_pair(seed, b, h, q, k);
    }
};

// The one reduction: over the features of a query and a key.
struct sum {
    static constexpr std::string_view name = "sum";
};
// Its second operand, where there is one: the features that it runs over.
struct features {
    static constexpr std::string_view name = "features";
};

}  // namespace fovea::FOVEA_SET::operations
