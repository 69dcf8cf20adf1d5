// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From the amount of an expression of one query and one key back to their features, and to tables: features in lanes.
#pragma once

#include <fovea/expr/backpropagate.hpp>
#include <fovea/kernel/backward/scatter.hpp>
#include <fovea/kernel/environment.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::kernel {

/// The amount of a body for each of its features: the same for all, or one for each.
template <class T, class Arch>
struct one_amount {
    T amount;
    FOVEA_INLINE pack<T, Arch> operator()(index_t, index_t) const { return {amount}; }
};
template <class T, class Arch>
struct amount_of_each {
    T const* amounts;
    FOVEA_INLINE pack<T, Arch> operator()(index_t feature, index_t left) const {
        return load_as<T, Arch>(amounts + feature, left);
    }
};

/// Where amounts go: to the sums of the features of a query and of a key, and to tables, as `Kinds` says.
template <class T, class Arch, class Kinds, class Tables>
struct feature_leaves {
    using leaf_kinds = Kinds;
    using vector = pack<T, Arch>;
    T *query, *key;  // of the first feature of the sum
    Tables const& tables;

    template <class Names, class Name>
    FOVEA_INLINE void name(Names const& at, vector const& amount, Name) const {
        add_to<T, Arch>((std::is_same_v<Name, q_t> ? query : key) + at.offset, amount, at.count);
    }
    template <class Names, class Amount, class Element, int Rank, class... Index>
    FOVEA_INLINE void table([[maybe_unused]] Names const& at, Amount const& amount,
                            view<Element const, Rank> const& table, Index const&... index) const {
        if constexpr (sizeof...(Index) == Rank) tables.add(table, amount, index...);
        else tables.add_features(table, amount, at.offset, at.count, index...);
    }
    template <class Names, class Body, class Over>
    void sum(Names const& at, T amount, Body const& body, Over const& over) const {
        auto const [first, count] = over.of(at.query_features, at.key_features);
        feature_leaves const here{query + first, key + first, tables};
        here.backpropagate_features(body, static_cast<typename Names::base const&>(at), at.query + first,
                                    at.key + first, count, one_amount<T, Arch>{amount});
    }

    /// A body back to `count` features of a query and a key, which begin here, as the sums do.
    template <class Body, class Base, class Q, class K, class Amounts>
    FOVEA_INLINE void backpropagate_features(Body const& body, Base const& base, Q const* from_query, K const* from_key,
                                             index_t count, Amounts const& amounts) const {
        for (index_t c = 0; c < count; c += vector::lanes) {
            feature_environment<T, Arch, Q, K, Base> const here{base, from_query, from_key, c, count - c};
            auto amount = amounts(c, count - c);
            if (count - c < vector::lanes) amount = select(vector::iota() < vector(count - c), amount, vector(T{0}));
            backpropagate(body, here, amount, *this);
        }
    }
};

}  // namespace fovea::FOVEA_SET::kernel
