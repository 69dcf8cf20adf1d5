// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Weights changed by an expression after the normalizer.
#pragma once

#include <fovea/kernel/environment.hpp>
#include <fovea/kernel/row.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::kernel {

/// The keys of one vector of a row, from its column on.
template <class T, class Arch>
FOVEA_INLINE positions<T, Arch> lane_keys(consecutive_keys const& keys, index_t column) {
    return {keys.first + column};
}
template <class T, class Arch>
FOVEA_INLINE index_pack<T, Arch> lane_keys(listed_keys const& keys, index_t column) {
    using lanes = index_pack<T, Arch>;
    if constexpr (std::is_same_v<integer_like<T>, std::int32_t>) {
        return lanes::load(keys.list + column);
    } else {
        alignas(64) typename lanes::array_type wide;
        std::copy_n(keys.list + column, wide.size(), wide.begin());
        return lanes::load(wide.data());
    }
}

/// One vector of final weights and the indices of its pairs.
template <class T, class Arch, class Keys>
struct weight_environment : index_environment<T, Arch, Keys> {
    pack<T, Arch> weight;

    using index_environment<T, Arch, Keys>::operator();
    FOVEA_INLINE auto operator()(weight_t) const { return weight; }
};

namespace detail {
template <bool Scales, bool Exact, class T, class Arch, class Expression, class Normalize, class Keys>
FOVEA_INLINE void reweigh_row(Expression const& expression, row_facts const& facts,
                              packed_row<T, Arch, Normalize, Keys> const& row) {
    using vector = pack<T, Arch>;
    for (index_t column = 0; column < row.size(); column += vector::lanes) {
        auto const keys = lane_keys<T, Arch>(row.keys, column);
        T* const at = row.scores + column;
        weight_environment<T, Arch, std::remove_const_t<decltype(keys)>> const here{{facts, keys, column},
                                                                                    vector::load(at)};
        auto weight = as_pack<T, Arch>(evaluate_in_lanes<T, Arch, Exact>(expression, here));
        if constexpr (Scales) weight = select(here.weight == vector(T{0}), here.weight, weight);
        weight.store(at);
    }
}
}  // namespace detail

/// reweigh: every weight of a row becomes an expression of itself and its indices. `Scales`: the expression multiplies
/// the weight by a factor, and weights of 0 stay 0 whatever the factor of an excluded pair is, NaN too.
template <bool Scales, class T, class Arch, class Expression, class Normalize, class Keys>
void reweigh(Expression const& expression, row_facts const& facts, packed_row<T, Arch, Normalize, Keys> const& row) {
    if constexpr (asks_for_exact<T, Expression>)
        if (facts.exact) return detail::reweigh_row<Scales, true>(expression, facts, row);
    detail::reweigh_row<Scales, false>(expression, facts, row);
}

}  // namespace fovea::FOVEA_SET::kernel
