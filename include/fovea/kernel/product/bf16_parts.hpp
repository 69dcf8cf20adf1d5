// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers as sums of bfloat16, their parts, and which products of parts are taken in which order.
#pragma once

#include <fovea/plan/product.hpp>
#include <fovea/simd/bf16_pairs.hpp>
#include <fovea/simd/unrolled.hpp>

#include <algorithm>
#include <limits>

namespace fovea::FOVEA_SET::kernel {

/// Two packs of numbers as pairs of bfloat16: the greatest part first, and then of what is left.
///
/// The parts of a finite number are finite, and as many as hold its bits add up to it, but for parts below 2^-126,
/// which count as 0. A number that is not finite is its first part, and the others are 0.
template <class T, class Arch, int Parts>
struct bf16_parts {
    using vector = pack<T, Arch>;
    using pairs = bf16_pairs<Arch>;
    static constexpr index_t lanes = vector::lanes;

    /// Calls store(part, pairs). Nothing is done for the greatest numbers, whose first part is infinite, and for those
    /// that are not finite: what a first part leaves of these is no number.
    template <class Store>
    FOVEA_INLINE static void split_unprotected(vector low, vector high, Store const& store) {
        unrolled<Parts>([&](auto part) FOVEA_LAMBDA {
            auto const both = pairs::paired(low, high);
            store(part, both);
            if constexpr (part() + 1 < Parts) {
                low = low - lower(both);
                high = high - upper(both);
            }
        });
    }
    /// The same of any numbers.
    template <class Store>
    FOVEA_INLINE static void split(vector const& low, vector const& high, Store const& store) {
        std::integral_constant<int, 0> const first_part;
        if constexpr (Parts == 1) {
            store(first_part, pairs::paired(low, high));
        } else {
            auto const first = pairs::paired(bounded(low), bounded(high));
            store(first_part, first);
            bf16_parts<T, Arch, Parts - 1>::split_unprotected(
                rest(low, lower(first)), rest(high, upper(first)), [&](auto part, vector const& both) FOVEA_LAMBDA {
                    store(std::integral_constant<int, part() + 1>{}, both);
                });
        }
    }
    /// The first n of 2 * lanes elements, with zeros after them, in the order of memory: the parts are `plane` apart.
    template <class Element>
    FOVEA_INLINE static void split_row(Element const* from, index_t n, bfloat16* to, index_t plane) {
        auto const load = [&](index_t at)
                              FOVEA_LAMBDA { return n > at ? load_as<T, Arch>(from + at, n - at) : vector(T{0}); };
        vector low = load(0), high = load(lanes);
        unrolled<Parts>([&](auto part) FOVEA_LAMBDA {
            constexpr bool first = part() == 0;
            auto const a = first ? bounded(low) : low, b = first ? bounded(high) : high;
            pairs::store(pairs::rounded(a, b), to + part() * plane);
            auto const both = pairs::paired(a, b);
            low = first ? rest(low, lower(both)) : low - lower(both);
            high = first ? rest(high, upper(both)) : high - upper(both);
        });
    }

    /// The lower and the upper numbers of pairs.
    FOVEA_INLINE static vector lower(vector const& of) {
        return {bits::as_reals(bits::template shift_left<16>(bits::as_integers(of.value)))};
    }
    FOVEA_INLINE static vector upper(vector const& of) {
        auto const shifted = bits::template shift_right<16>(bits::as_integers(of.value));
        return {bits::as_reals(bits::template shift_left<16>(shifted))};
    }

private:
    using bits = registers<T, Arch>;

    FOVEA_INLINE static auto is_finite(vector const& x) { return abs(x) <= vector(std::numeric_limits<T>::max()); }
    /// Finite numbers are rounded to finite ones: to the greatest bfloat16, or less.
    FOVEA_INLINE static vector bounded(vector const& x) {
        vector const greatest(0x1.fep127f);
        return select(is_finite(x), min(max(x, -greatest), greatest), x);
    }
    FOVEA_INLINE static vector rest(vector const& x, vector const& first) {
        return select(is_finite(x), x - first, vector(T{0}));
    }
};

/// Calls f(left, right, loads_left, loads_right) for the products of two parts whose places add up to less than
/// `Kept`, but for those of the first parts, as constants: neighbours share a part where they can, and what f says to
/// load is the part that the one before did not have.
template <int Left, int Right, int Kept, class F>
FOVEA_INLINE void for_each_small_product(F const& f) {
    unrolled<Left>([&](auto n) FOVEA_LAMBDA {
        constexpr int left = Left - 1 - n(), last = std::min(Right, Kept - left), first = left == 0 ? 1 : 0;
        if constexpr (first < last)
            unrolled<last - first>([&](auto m) FOVEA_LAMBDA {
                constexpr int right = first + m();
                // The left part before this one ended with the right part that this one begins with.
                constexpr int ended = std::min(Right, Kept - left - 1) - 1;
                constexpr bool begins = m() == 0, continues = begins && n() > 0 && ended == right && ended >= 0;
                f(std::integral_constant<int, left>{}, std::integral_constant<int, right>{},
                  std::bool_constant<begins>{}, std::bool_constant<!continues>{});
            });
    });
}
template <int Left, int Right, int Kept>
constexpr int products_of_parts = [] {
    int n = 0;
    for (int left = 0; left < Left; ++left) n += std::max(0, std::min(Right, Kept - left));
    return n;
}();

}  // namespace fovea::FOVEA_SET::kernel
