// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The one rule for integers in lanes: an expression is evaluated with 64 bits in each, unless intervals have shown for
// the whole call that those of a lane hold every integer on the way.
#pragma once

#include <fovea/expr/analyze.hpp>
#include <fovea/expr/evaluate.hpp>
#include <fovea/kernel/lookup.hpp>

namespace fovea::FOVEA_SET::kernel {

/// A value as a pack: a number is the same in all lanes.
template <class T, class Arch, class X>
FOVEA_INLINE pack<T, Arch> as_pack(X const& x) {
    if constexpr (lane_indices<X>) return x.to_real();
    else return pack<T, Arch>(x);
}

/// The names of another environment, with integers of 64 bits in every lane.
template <class T, class Arch, class Names>
struct exact_environment {
    Names const& names;

    template <class X>
    static auto exact(X const& x) {
        if constexpr (lane_indices<X>) return exact_pack<T, Arch>(x);
        else return x;
    }
    struct arithmetic : Names::arithmetic {
        static auto chosen_integer(auto const& x) { return exact(x); }
    };
    template <class Name>
    auto operator()(Name name) const {
        return exact(names(name));
    }
    template <class Body, class Over>
    auto sum(Body const& body, Over const& over) const {
        return names.sum(body, over);
    }
    template <class Element, int Rank, class... Index>
    auto lookup(view<Element const, Rank> const& table, Index const&... at) const {
        if constexpr (sizeof...(Index) == Rank) return exact(look_up<T, Arch, true>(table, at...));
        else return names.lookup(table, at...);
    }
};

/// The names of another environment where all integers fit their lanes, as has been found for the whole call.
template <class T, class Arch, class Names>
struct narrow_environment {
    Names const& names;

    struct arithmetic : Names::arithmetic {
        template <class X>
        FOVEA_INLINE static auto chosen_integer(X const& x) {
            if constexpr (is_either_integer<X> || is_exact_pack<X>) return low_halves(x);
            else return x;
        }
    };
    template <class Name>
    FOVEA_INLINE auto operator()(Name name) const {
        return names(name);
    }
    template <class Body, class Over>
    FOVEA_INLINE auto sum(Body const& body, Over const& over) const {
        return names.sum(body, over);
    }
    template <class Element, int Rank, class... Index>
    FOVEA_INLINE auto lookup(view<Element const, Rank> const& table, Index const&... at) const {
        return names.lookup(table, at...);
    }
};

/// Where integers of 64 bits may be needed at all: beside floats, in expressions that are more than a difference of
/// positions or tables of fewer bits.
template <class T, class... E>
inline constexpr bool asks_for_exact = sizeof(T) == 4 && (may_exceed_32_bits<E> || ...);

/// The value of an expression in lanes, integers narrow or exact.
template <class T, class Arch, bool Exact, class E, class Names>
FOVEA_INLINE auto evaluate_in_lanes(E const& e, Names const& names) {
    if constexpr (Exact) return evaluate(e, exact_environment<T, Arch, Names>{names});
    else if constexpr (chooses_integer<E>) return evaluate(e, narrow_environment<T, Arch, Names>{names});
    else return evaluate(e, names);
}
template <class T, class Arch, class E, class Names>
[[gnu::noinline]] auto evaluate_exactly(E const& e, Names const& names) {
    return evaluate_in_lanes<T, Arch, true>(e, names);
}

/// The value of an expression as a pack, and of a condition as a mask, whichever integers this call needs.
template <class T, class Arch, class E, class Names>
FOVEA_INLINE pack<T, Arch> value_in_lanes(E const& e, Names const& names) {
    if constexpr (asks_for_exact<T, E>)
        if (names.row.exact) [[unlikely]]
            return as_pack<T, Arch>(evaluate_exactly<T, Arch>(e, names));
    return as_pack<T, Arch>(evaluate_in_lanes<T, Arch, false>(e, names));
}
template <class T, class Arch, class E, class Names>
FOVEA_INLINE lane_mask<T, Arch> mask_in_lanes(E const& e, Names const& names) {
    if constexpr (asks_for_exact<T, E>)
        if (names.row.exact) [[unlikely]]
            return lane_mask<T, Arch>::all() && evaluate_exactly<T, Arch>(e, names);
    return lane_mask<T, Arch>::all() && evaluate_in_lanes<T, Arch, false>(e, names);
}

}  // namespace fovea::FOVEA_SET::kernel
