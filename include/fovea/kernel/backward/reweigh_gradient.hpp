// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From the gradients of changed weights back to those of the weights before, and from expressions of a row to tables.
#pragma once

#include <fovea/kernel/backward/score_derivative.hpp>
#include <fovea/kernel/reweigh.hpp>

namespace fovea::FOVEA_SET::kernel {

/// The leaves of an expression of one number, a score or a weight, and of tables, those that `Tables` takes.
template <class Tables>
struct number_kinds {
    template <class E>
    static constexpr bool takes = [] {
        if constexpr (is_parameter<E>) return Tables::template takes<E>;
        else return std::is_same_v<E, score_t> || std::is_same_v<E, weight_t>;
    }();
};

/// Where their amounts go, numbers or vectors of them.
template <class Number, class Kinds, class Share>
struct number_leaves {
    using leaf_kinds = Kinds;
    Share const& tables;
    Number* number = nullptr;

    template <class Names, class Name>
    FOVEA_INLINE void name(Names const&, Number const& amount, Name) const {
        *number = *number + amount;
    }
    template <class Names, class Element, int Rank, class... Index>
    FOVEA_INLINE void table(Names const&, Number const& amount, view<Element const, Rank> const& table,
                            Index const&... index) const {
        tables.add(table, amount, index...);
    }
};

/// A score of a row, or a vector of them, and the indices of the row.
template <class T, class Arch, class Number>
struct score_of_row : index_environment<T, Arch, index_t> {
    Number score;
    using index_environment<T, Arch, index_t>::operator();
    FOVEA_INLINE Number operator()(score_t) const { return score; }
};

namespace detail {
template <class Kinds, bool Exact, class T, class Arch, class Expression, class Normalize, class Keys, class Share>
FOVEA_INLINE void reweigh_row_gradient(Expression const& expression, row_facts const& facts,
                                       packed_row<T, Arch, Normalize, Keys> const& row, T* gradients,
                                       Share const& tables) {
    using vector = pack<T, Arch>;
    for (index_t column = 0; column < row.size(); column += vector::lanes) {
        auto const keys = lane_keys<T, Arch>(row.keys, column);
        weight_environment<T, Arch, std::remove_const_t<decltype(keys)>> const here{{facts, keys, column},
                                                                                    vector::load(row.scores + column)};
        vector of_weight(T{0});
        backpropagate_in_lanes<T, Arch, Exact>(expression, here, vector::load(gradients + column),
                                               number_leaves<vector, Kinds, Share>{tables, &of_weight});
        of_weight.store(gradients + column);
    }
}
}  // namespace detail

/// reweigh_gradient: the gradients of weights that kernel::reweigh has changed become those of the weights before,
/// which `row` holds. `Kinds` says which tables have a gradient.
template <class Kinds, class T, class Arch, class Expression, class Normalize, class Keys, class Share>
void reweigh_gradient(Expression const& expression, row_facts const& facts,
                      packed_row<T, Arch, Normalize, Keys> const& row, T* gradients, Share const& tables) {
    if constexpr (asks_for_exact<T, Expression>)
        if (facts.exact) return detail::reweigh_row_gradient<Kinds, true>(expression, facts, row, gradients, tables);
    detail::reweigh_row_gradient<Kinds, false>(expression, facts, row, gradients, tables);
}

}  // namespace fovea::FOVEA_SET::kernel
