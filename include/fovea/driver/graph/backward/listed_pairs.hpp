// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pairs of one position with listed positions of the other side, in lanes: what names and parts of a score are there.
#pragma once

#include <fovea/expr/backpropagate.hpp>
#include <fovea/kernel/backward/scatter.hpp>
#include <fovea/kernel/pairs.hpp>
#include <fovea/plan/listed_gradient.hpp>

namespace fovea::FOVEA_SET::kernel {

/// One query with its keys, or one key with the queries that see it: `Fixed` is the side of the one.
template <side Fixed, class T, class Arch, class Places>
struct listed_environment : uniform_names<T, Arch> {
    index_t fixed;             // its position
    std::int32_t const* list;  // the positions of the others
    index_t listed;
    index_t const* edges;  // their numbers, where an expression reads them
    head_lanes const& layout;
    index_t pair;                // of the first lane
    pack<T, Arch> const* parts;  // as they are numbered in Places

    using uniform_names<T, Arch>::operator();
    FOVEA_INLINE auto operator()(q_idx_t) const {
        if constexpr (Fixed == side::query) return fixed;
        else return positions();
    }
    FOVEA_INLINE auto operator()(kv_idx_t) const {
        if constexpr (Fixed == side::key) return fixed;
        else return positions();
    }
    FOVEA_INLINE auto operator()(head_t) const { return heads_of_lanes<T, Arch>(layout, pair); }
    FOVEA_INLINE auto operator()(edge_t) const {
        exact_pack<T, Arch> numbers;
        index_t l = pair;
        for (auto& number : numbers.lane) number = edges[std::min(layout.key(l++), listed - 1)];
        return numbers;
    }
    template <plan::part Kind, std::size_t I>
    FOVEA_INLINE auto operator()(plan::reference<Kind, I>) const {
        return parts[Places::template first<Kind> + static_cast<index_t>(I)];
    }
    template <class Element, int Rank, class... Index>
    FOVEA_INLINE auto lookup(view<Element const, Rank> const& table, Index const&... at) const {
        static_assert(sizeof...(Index) == Rank, "fovea: a table outside sum() needs an index for each of its axes");
        return look_up<T, Arch>(table, at...);
    }

private:
    FOVEA_INLINE auto positions() const {
        alignas(64) typename index_pack<T, Arch>::array_type all;
        index_t l = pair;
        for (auto& each : all) each = list[std::min(layout.key(l++), listed - 1)];
        return index_pack<T, Arch>::load(all.data());
    }
};

/// Takes the gradients of the parts of pairs, and those of tables where `Tables` takes them.
template <class T, class Arch, class Places, class Tables>
struct part_leaves {
    struct leaf_kinds {
        template <class E>
        static constexpr bool takes = [] {
            if constexpr (is_parameter<E>) return Tables::template takes<E>;
            else return plan::refers_to_a_part<E>;
        }();
    };
    pack<T, Arch>* amounts;
    Tables const& tables;

    template <class Names, plan::part Kind, std::size_t I>
    FOVEA_INLINE void name(Names const&, pack<T, Arch> const& amount, plan::reference<Kind, I>) const {
        auto& sum = amounts[Places::template first<Kind> + static_cast<index_t>(I)];
        sum = sum + amount;
    }
    template <class Names, class Element, int Rank, class... Index>
    FOVEA_INLINE void table(Names const&, pack<T, Arch> const& amount, view<Element const, Rank> const& table,
                            Index const&... index) const {
        if (view<T, Rank> const to = tables.sums(table); to.data != nullptr) add_at<T, Arch>(to, amount, index...);
    }
};

/// backpropagate with pairs in lanes.
template <class T, class Arch, class E, class Names, class Leaves>
FOVEA_INLINE void backpropagate_in_lanes(E const& e, Names const& names, pack<T, Arch> const& amount,
                                         Leaves const& leaves) {
    if constexpr (chooses_integer<E>) backpropagate(e, narrow_environment<T, Arch, Names>{names}, amount, leaves);
    else backpropagate(e, names, amount, leaves);
}

}  // namespace fovea::FOVEA_SET::kernel
