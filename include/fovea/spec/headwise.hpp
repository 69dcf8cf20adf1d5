// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Maps of the rows of each head, in succession, and the number of heads of a projection.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/view.hpp>
#include <fovea/spec/concepts.hpp>

#include <string>

namespace fovea::FOVEA_SET {

/// heads<Query, KeyValue>: how many heads a projection is cut into.
///
/// Query heads in groups of Query / KeyValue share a key/value head: head h reads h / (Query / KeyValue).
/// heads<8> is multi-head, heads<32, 8> grouped-query, heads<32, 1> multi-query attention. Head h takes the features
/// h * d ... of a projected row, d being its features over its heads.
/// Errors: at compile time, where Query is no multiple of KeyValue; shape_error where the features are no multiple.
template <int Query, int KeyValue = Query>
struct heads_t {
    static_assert(Query > 0 && KeyValue > 0, "fovea: an attention has at least one head");
    static_assert(KeyValue <= 0 || Query % (KeyValue > 0 ? KeyValue : 1) == 0,
                  "fovea: the query heads cannot share the key/value heads: their number is not a multiple");
    static constexpr int query = Query;
    static constexpr int key_value = KeyValue;
    static constexpr int group = KeyValue > 0 ? Query / KeyValue : 1;
};

template <int Query, int KeyValue = Query>
inline constexpr auto heads = heads_t<Query, KeyValue>{};

template <class T>
inline constexpr bool is_heads = false;
template <int Query, int KeyValue>
inline constexpr bool is_heads<heads_t<Query, KeyValue>> = true;

/// headwise: a row map, and what happens to the features of each head after it.
template <row_map First, head_map Second>
struct headwise {
    using row_map_tag = void;
    using headwise_tag = void;
    FOVEA_NO_UNIQUE_ADDRESS First first{};
    FOVEA_NO_UNIQUE_ADDRESS Second second{};

    constexpr headwise() = default;
    constexpr headwise(First const& a, Second const& b) : first(a), second(b) {}
    constexpr index_t features(index_t in) const { return first.features(in); }
    std::string text() const { return first.text() + " | " + second.text(); }
};

template <class M>
concept headwise_map = row_map<M> && requires { typename M::headwise_tag; };

template <row_map First, head_map Second>
constexpr headwise<First, Second> operator|(First const& first, Second const& second) {
    static_assert(head_map_of_known_gradient<Second>,
                  "fovea: a map of heads says how gradients go through it: give it gradient(x, d, place), or linear, "
                  "which is false where it has no gradient");
    return {first, second};
}

/// successive: a row map of what another one gives; maps of heads of the first see the whole row as one head.
template <row_map First, row_map Second>
struct successive {
    using row_map_tag = void;
    using successive_tag = void;
    FOVEA_NO_UNIQUE_ADDRESS First first{};
    FOVEA_NO_UNIQUE_ADDRESS Second second{};

    constexpr successive() = default;
    constexpr successive(First const& a, Second const& b) : first(a), second(b) {}
    constexpr index_t features(index_t in) const { return second.features(first.features(in)); }
    std::string text() const { return first.text() + " | " + second.text(); }
};

template <class M>
concept successive_map = row_map<M> && requires { typename M::successive_tag; };

template <row_map First, row_map Second>
constexpr successive<First, Second> operator|(First const& first, Second const& second) {
    return {first, second};
}
/// Maps of heads belong to the row map before them.
template <row_map First, row_map Second, head_map Third>
constexpr auto operator|(successive<First, Second> const& rows, Third const& map) {
    return rows.first | (rows.second | map);
}

/// Calls f with each row map of some that follow one another, with its maps of heads.
template <row_map M, class F>
constexpr void for_each_row_map(M const& map, F const& f) {
    if constexpr (successive_map<M>) {
        for_each_row_map(map.first, f);
        for_each_row_map(map.second, f);
    } else {
        f(map);
    }
}

/// True where the rows that a map makes are those of its source.
template <class Map>
inline constexpr bool makes_no_rows = !successive_map<Map> && !headwise_map<Map> && !linear_map<Map>;
template <class First, class Second>
inline constexpr bool makes_no_rows<successive<First, Second>> = makes_no_rows<First> && makes_no_rows<Second>;

/// The row map under all maps of heads.
template <row_map M>
constexpr auto const& row_map_below(M const& map) {
    if constexpr (headwise_map<M>) return row_map_below(map.first);
    else return map;
}
template <class M>
using map_below = std::remove_cvref_t<decltype(row_map_below(std::declval<M const&>()))>;

template <row_map M>
inline constexpr std::size_t head_maps_in = 0;
template <headwise_map M>
inline constexpr std::size_t head_maps_in<M> = 1 + head_maps_in<decltype(M::first)>;

/// Calls f with each map of heads, in the order in which they were written.
template <row_map M, class F>
constexpr void for_each_head_map(M const& map, F const& f) {
    if constexpr (headwise_map<M>) {
        for_each_head_map(map.first, f);
        f(map.second);
    }
}

/// Errors: those of a map of heads on rows, (batch, head, position, feature), that do not fit it.
template <head_map M>
void check_head_map(M const& map, extents_t<4> const& rows, char const* argument) {
    if constexpr (requires { map.check(rows, argument); }) map.check(rows, argument);
}

}  // namespace fovea::FOVEA_SET
