// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The arithmetic of an environment: what numbers are there, so that one expression has one value, whichever of its
// parts are the same for many pairs.
#pragma once

#include <fovea/expr/scalar.hpp>

#include <type_traits>

namespace fovea::FOVEA_SET {

/// Numbers as they are, integers beside functions of reals as double: what an environment without one of its own has.
struct plain_arithmetic {
    static constexpr auto constant(auto x) { return x; }
    template <class X>
    static constexpr auto to_real(X const& x) {
        if constexpr (std::is_integral_v<X>) return static_cast<double>(x);
        else return x;
    }
    static constexpr auto chosen_integer(auto const& x) { return x; }
    template <class Operation>
    FOVEA_INLINE static constexpr auto function(auto const&... x) {
        return Operation::apply(x...);
    }
};

/// Plain numbers of one type: conditions stay conditions, integers have 64 bits, everything else is a Real.
template <class Real>
struct arithmetic_in : plain_arithmetic {
    template <class X>
    static constexpr auto constant(X const& x) {
        if constexpr (std::is_same_v<X, bool>) return x;
        else if constexpr (std::is_integral_v<X>) return static_cast<index_t>(x);
        else return static_cast<Real>(x);
    }
    static constexpr Real to_real(auto const& x) { return static_cast<Real>(x); }
};

namespace detail {
template <class Environment>
struct arithmetic_of {
    using type = plain_arithmetic;
};
template <class Environment>
    requires requires { typename Environment::arithmetic; }
struct arithmetic_of<Environment> {
    using type = typename Environment::arithmetic;
};
}  // namespace detail

template <class Environment>
using arithmetic_of = typename detail::arithmetic_of<Environment>::type;

}  // namespace fovea::FOVEA_SET
