// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums over features for the pairs of one vector: lane by feature first, then each sum to its lane.
#pragma once

#include <fovea/kernel/pairs.hpp>
#include <fovea/spec/feature_tables.hpp>

namespace fovea::FOVEA_SET::kernel {

/// Where the features of one query and one key are, and what names mean for this pair.
template <class T, class Arch, class Q, class K>
struct pair_rows {
    index_environment<T, Arch, index_t> base;
    Q const* query;
    K const* key;
};

/// Inside sum(), where the rows of several heads lie one behind the other: lane by head and feature.
template <class T, class Arch, class Base, class Q, class K>
struct joined_environment : Base {
    Q const* query;  // the first feature of the first head
    K const* key;
    index_t head;  // the first one
    int shift;     // log2 of the features of a head

    using Base::operator();
    FOVEA_INLINE auto operator()(q_t) const { return storage<Q, T, Arch>::load(query); }
    FOVEA_INLINE auto operator()(k_t) const { return storage<K, T, Arch>::load(key); }
    FOVEA_INLINE auto operator()(head_t) const { return near_positions<T, Arch>{head, lanes_shifted<T, Arch>(shift)}; }

    template <class Element, int Rank, class... Index>
    FOVEA_INLINE auto lookup(view<Element const, Rank> const& table, Index const&... at) const {
        if constexpr (sizeof...(Index) == Rank) {
            return look_up<T, Arch>(table, at...);
        } else if constexpr ((std::integral<Index> && ...)) {
            return pack<T, Arch>(look_up<T, Arch>(table, at..., lanes_masked<T, Arch>(shift)));
        } else {  // of heads in a row
            index_t start = 0;
            int axis = 0;
            auto const add = [&](auto const& index) FOVEA_LAMBDA {
                if constexpr (std::integral<std::remove_cvref_t<decltype(index)>>)
                    start += inside(static_cast<index_t>(index), table.extent(axis)) * table.stride(axis);
                else start += index.base * table.stride(axis);
                ++axis;
            };
            (add(at), ...);
            return storage<Element, T, Arch>::load(table.data + start);
        }
    }
};

/// True where an expression can be read lane by head and feature: where it reads a table feature by feature, and not
/// the same for all heads, the heads of the table lie there one behind the other.
template <class E>
bool joins_heads(E const& e, index_t heads, index_t features) {
    if constexpr (is_node_of<at_operation, E>) {
        if constexpr (free_axes_of<E> == 0 || !uses<E, head_t>) return true;
        else
            return with_children(e, [&](auto const& table, auto const&... indices) {
                int axis = 0, heads_axes = 0;
                bool joined = true;
                auto const look = [&](auto const& index) {
                    using index_type = std::remove_cvref_t<decltype(index)>;
                    if constexpr (std::is_same_v<index_type, head_t>) {
                        ++heads_axes;
                        joined = joined && table.table.stride(axis) == features && table.table.extent(axis) >= heads;
                    } else if constexpr (uses<index_type, head_t>) {
                        joined = false;
                    }
                    ++axis;
                };
                (look(indices), ...);
                return joined && heads_axes == 1;
            });
    } else if constexpr (is_node<E>) {
        return with_children(e,
                             [&](auto const&... children) { return (joins_heads(children, heads, features) && ...); });
    } else {
        return true;
    }
}

/// True where the rows of two heads fill a vector and lie one behind the other, `stride` apart, so that heads need not
/// be looked at one by one.
template <class T, class Arch>
constexpr bool fills_vectors(index_t features, index_t stride, head_lanes const& lanes) {
    constexpr index_t width = pack<T, Arch>::lanes;
    return stride == features && features * 2 == width && lanes.room == lanes.heads && lanes.room >= 2
        && lanes.room * 4 >= width;
}

namespace detail {
/// The sums where two heads fill a vector; Of_key vectors in a row belong to one key.
template <int Of_key, class T, class Arch, class Body, class Rows>
[[gnu::noinline]] pack<T, Arch> joined_sums(Body const& body, head_lanes const& lanes, index_t first, index_t keys,
                                            Rows const& rows) {
    using vector = pack<T, Arch>;
    constexpr index_t width = vector::lanes;
    constexpr int group = static_cast<int>(width) / 2;
    constexpr int shift = std::countr_zero(static_cast<unsigned>(group));
    vector part[static_cast<std::size_t>(group)];
#pragma GCC unroll 4
    for (int i = 0; i < group; i += Of_key) {
        index_t const pair = first + 2 * i, head = lanes.head(pair);
        auto const at = rows(std::min(lanes.key(pair), keys - 1), head);
        using places = std::remove_const_t<decltype(at)>;
        joined_environment<T, Arch, decltype(places::base), std::remove_cvref_t<decltype(*at.query)>,
                           std::remove_cvref_t<decltype(*at.key)>>
            here{at.base, at.query, at.key, head, shift};
#pragma GCC unroll 8
        for (int j = i; j < i + Of_key; ++j) {
            part[j] = as_pack<T, Arch>(evaluate(body, here));
            here.query += width, here.key += width, here.head += 2;
        }
    }
    return groups_of<T, Arch>::sums(part);
}
}  // namespace detail

/// The sum of a body over the features of each pair of one vector, from `first` on. `rows(key, head)` finds the rows of
/// a pair of a head and one of `keys` keys; what stands in lanes behind them means nothing. `joined`: the rows fill
/// vectors, and the body joins heads.
template <class T, class Arch, class Body, class Rows>
FOVEA_INLINE pack<T, Arch> head_sums(Body const& body, head_lanes const& lanes, index_t first, index_t keys,
                                     Rows const& rows, index_t features, bool joined) {
    using vector = pack<T, Arch>;
    constexpr index_t width = vector::lanes;
    constexpr int group = static_cast<int>(width) / 2;
    if (joined) {
        if constexpr (group >= 2)
            if (lanes.room * 2 == width) return detail::joined_sums<group / 2, T, Arch>(body, lanes, first, keys, rows);
        if constexpr (group >= 4)
            if (lanes.room * 4 == width) return detail::joined_sums<group / 4, T, Arch>(body, lanes, first, keys, rows);
        return detail::joined_sums<group, T, Arch>(body, lanes, first, keys, rows);
    }
    vector part[static_cast<std::size_t>(width)];
    for (index_t i = 0; i < width; ++i) {
        index_t const key = lanes.key(first + i), head = lanes.head(first + i);
        vector total(T{0});
        if (key < keys && head < lanes.heads) {
            auto const at = rows(key, head);
            for_features<T, Arch>(body, at.base, at.query, at.key, features,
                                  [&](index_t, auto const& value) FOVEA_LAMBDA { total = total + value; });
        }
        part[static_cast<std::size_t>(i)] = total;
    }
    return groups_of<T, Arch>::sums(part);
}

}  // namespace fovea::FOVEA_SET::kernel
