// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums over features for pairs, all heads of a key in lanes, and the body of such a sum for one pair.
#pragma once

#include <fovea/kernel/environment.hpp>
#include <fovea/kernel/pairs.hpp>
#include <fovea/spec/feature_tables.hpp>

namespace fovea::FOVEA_SET::kernel {

/// The row of a table that a pair reads feature by feature. Of_head: it is that of one head, those of the following
/// heads lie somewhere else.
template <class Element, bool Of_head>
struct table_row {
    using expression_tag = void;
    Element const* first;
};

/// An element of a table that is the same for all features of a pair.
template <class Element>
struct table_element {
    using expression_tag = void;
    Element value;
};

/// Where the row begins that a table has for these indices; inside the table, whatever they are.
template <class Element, int Rank, class... Index>
FOVEA_INLINE Element const* row_at(view<Element const, Rank> const& table, Index const&... index) {
    index_t start = 0;
    int axis = 0;
    [[maybe_unused]] auto const add = [&](index_t at) FOVEA_LAMBDA {
        index_t const extent = table.extent(axis);
        if (static_cast<std::size_t>(at) >= static_cast<std::size_t>(extent)) [[unlikely]]
            at = clamped_index(at, extent);
        start += at * table.stride(axis);
        ++axis;
    };
    (add(static_cast<index_t>(index)), ...);
    return table.data + start;
}

/// An expression whose tables are replaced by what they are for one pair; `names` knows the indices of the pair.
/// Heads_differ: the body is read for several heads at once, and an element of a head is none of all of them.
template <bool Heads_differ, class E, class Names>
FOVEA_INLINE auto body_of_pair(E const& e, Names const& names) {
    if constexpr (free_axes_of<E> > 0) {
        static_assert(free_axes_of<E> == 1,
                      "fovea: a table has at most one axis without an index, the one of the features");
        using row = table_row<typename feature_of<E>::type, uses<E, head_t>>;
        if constexpr (is_parameter<E>) return row{e.table.data};
        else
            return with_children(e, [&](auto const& table, auto const&... indices)
                                        FOVEA_LAMBDA { return row{row_at(table.table, evaluate(indices, names)...)}; });
    } else if constexpr (is_node_of<at_operation, E> && !(Heads_differ && uses<E, head_t>)) {
        auto const value = evaluate(e, names);
        return table_element<std::remove_const_t<decltype(value)>>{value};
    } else if constexpr (is_node<E> && !is_node_of<at_operation, E> && reads_a_table<E>) {
        return with_children(e, [&](auto const&... children) FOVEA_LAMBDA {
            return make_node<typename E::operation>(body_of_pair<Heads_differ>(children, names)...);
        });
    } else {
        return e;
    }
}

/// Inside the body of one pair, lane by feature: a whole vector of features, or where `Whole` is not so the first
/// `count`, with zeros after them.
template <bool Whole, class T, class Arch, class Q, class K, class Base>
struct pair_features : Base {
    Q const* query;
    K const* key;
    index_t offset;
    index_t count;

    using Base::operator();
    FOVEA_INLINE auto operator()(q_t) const { return load(query); }
    FOVEA_INLINE auto operator()(k_t) const { return load(key); }
    template <class Element, bool Of_head>
    FOVEA_INLINE auto operator()(table_row<Element, Of_head> const& table) const {
        return load(table.first);
    }
    template <class Element>
    FOVEA_INLINE Element operator()(table_element<Element> const& element) const {
        return element.value;
    }

private:
    template <class Element>
    FOVEA_INLINE auto load(Element const* from) const {
        if constexpr (Whole) return storage<Element, T, Arch>::load(from + offset);
        else return load_as<T, Arch>(from + offset, count);
    }
};

/// The sums of a body over the features of one pair, as many as there are lanes: feature f counts to lane f mod lanes.
template <class T, class Arch, class Body, class Base, class Q, class K>
FOVEA_INLINE pack<T, Arch> sums_in_lanes(Body const& body, Base const& base, Q const* query, K const* key,
                                         index_t features) {
    using vector = pack<T, Arch>;
    auto const of_pair = body_of_pair<false>(body, base);
    vector total(T{0});
    index_t c = 0;
    for (; c + vector::lanes <= features; c += vector::lanes) {
        pair_features<true, T, Arch, Q, K, Base> const here{base, query, key, c, vector::lanes};
        total = total + as_pack<T, Arch>(evaluate(of_pair, here));
    }
    if (c < features) {
        pair_features<false, T, Arch, Q, K, Base> const here{base, query, key, c, features - c};
        auto const value = as_pack<T, Arch>(evaluate(of_pair, here));
        total = total + select(vector::iota() < vector(features - c), value, vector(T{0}));
    }
    return total;
}

/// One pair: its indices, and pointers to the features of its query and of its key.
template <class Q, class K>
struct pair_rows {
    row_coordinates row;
    index_t position;  // of the key
    index_t column;    // of the key among those that are listed
    Q const* query;
    K const* key;

    template <class T, class Arch>
    FOVEA_INLINE index_environment<T, Arch, index_t> names() const {
        return {row, position, column};
    }
};

/// The environment of the body of one pair where the rows of several heads are contiguous: heads and features in lanes.
template <class T, class Arch, class Base, class Q, class K>
struct joined_features : Base {
    Q const* query;  // the first feature of the first head
    K const* key;
    index_t offset = 0;  // elements from there
    index_t head;        // the first one at the offset
    int shift;           // log2 of the features of a head

    using Base::operator();
    FOVEA_INLINE auto operator()(q_t) const { return storage<Q, T, Arch>::load(query + offset); }
    FOVEA_INLINE auto operator()(k_t) const { return storage<K, T, Arch>::load(key + offset); }
    FOVEA_INLINE auto operator()(head_t) const { return offset_indices<T, Arch>{head, lanes_shifted<T, Arch>(shift)}; }
    template <class Element, bool Of_head>
    FOVEA_INLINE pack<T, Arch> operator()(table_row<Element, Of_head> const& table) const {
        index_t const features = index_t{1} << shift;
        if constexpr (Of_head) return storage<Element, T, Arch>::load(table.first + offset);
        else if constexpr (std::is_same_v<Element, T>) return lane_groups_of<T, Arch>::repeated(table.first, features);
        else
            return lane_groups_of<T, Arch>::permuted(load_as<T, Arch>(table.first, features),
                                                     lanes_masked<T, Arch>(shift));
    }
    template <class Element>
    FOVEA_INLINE Element operator()(table_element<Element> const& element) const {
        return element.value;
    }
};

/// True where an expression can be evaluated with heads and features in lanes: the rows of the heads are contiguous in
/// each table that it reads by feature and head.
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

/// True where the contiguous rows of one head or two, `stride` apart, fill a vector, so that vectors are loaded across
/// heads.
template <class T, class Arch>
constexpr bool fills_vectors(index_t features, index_t stride, head_lanes const& layout) {
    constexpr index_t width = pack<T, Arch>::lanes;
    return stride == features && (features == width || features * 2 == width) && layout.padded_heads == layout.heads
        && layout.padded_heads >= 2 && layout.padded_heads * 4 >= width;
}

namespace detail {
/// The sums where so many heads fill a vector; Of_key vectors in a row belong to one key.
template <int Heads, int Of_key, class T, class Arch, class Body, class Pairs>
[[gnu::noinline]] pack<T, Arch> joined_sums(Body const& body, head_lanes const& layout, index_t first, index_t keys,
                                            Pairs const& pairs) {
    using vector = pack<T, Arch>;
    constexpr int group = static_cast<int>(vector::lanes) / Heads;
    constexpr int shift = std::countr_zero(static_cast<unsigned>(group));
    vector part[static_cast<std::size_t>(group)];
#pragma GCC unroll 4
    for (int i = 0; i < group; i += Of_key) {
        index_t const pair = first + Heads * i, head = layout.head(pair);
        auto const at = pairs(std::min(layout.key(pair), keys - 1), head);
        auto const names = at.template names<T, Arch>();
        auto const of_pair = body_of_pair<true>(body, names);
        joined_features<T, Arch, std::remove_const_t<decltype(names)>, std::remove_cvref_t<decltype(*at.query)>,
                        std::remove_cvref_t<decltype(*at.key)>>
            here{names, at.query, at.key, 0, head, shift};
#pragma GCC unroll 8
        for (int j = i; j < i + Of_key; ++j) {
            part[j] = as_pack<T, Arch>(evaluate(of_pair, here));
            here.offset += vector::lanes, here.head += Heads;
        }
    }
    return lane_groups_of<T, Arch>::sums(part);
}

/// The same for any number of heads that fills_vectors takes.
template <int Heads, class T, class Arch, class Body, class Pairs>
FOVEA_INLINE pack<T, Arch> joined_sums_of_heads(Body const& body, head_lanes const& layout, index_t first, index_t keys,
                                                Pairs const& pairs) {
    constexpr index_t width = pack<T, Arch>::lanes;
    constexpr int group = static_cast<int>(width) / Heads;
    if constexpr (group >= 2)
        if (layout.padded_heads * 2 == width)
            return joined_sums<Heads, group / 2, T, Arch>(body, layout, first, keys, pairs);
    if constexpr (group >= 4)
        if (layout.padded_heads * 4 == width)
            return joined_sums<Heads, group / 4, T, Arch>(body, layout, first, keys, pairs);
    return joined_sums<Heads, group, T, Arch>(body, layout, first, keys, pairs);
}

/// The sums of one pair after the other.
template <bool One_head, class T, class Arch, class Body, class Pairs>
FOVEA_INLINE pack<T, Arch> separate_sums(Body const& body, head_lanes const& layout, index_t first, index_t keys,
                                         Pairs const& pairs, index_t features) {
    using vector = pack<T, Arch>;
    constexpr index_t width = vector::lanes;
    auto const pair = pairs;  // a copy stays in registers
    index_t const first_head = One_head ? 0 : layout.head(first), heads = One_head ? 1 : layout.heads;
    index_t const of_key = One_head ? 1 : std::min(layout.padded_heads, width);  // lanes of each key
    vector part[static_cast<std::size_t>(width)];
    index_t key = layout.key(first), lane = 0;
    for (; lane < width && key < keys; ++key) {
        for (index_t end = lane + of_key, head = first_head; lane < end; ++lane, ++head) {
            vector total(T{0});
            if (One_head || head < heads) {
                auto const at = pair(key, head);
                total = sums_in_lanes<T, Arch>(body, at.template names<T, Arch>(), at.query, at.key, features);
            }
            part[lane] = total;
        }
    }
    for (; lane < width; ++lane) part[lane] = vector(T{0});
    return lane_groups_of<T, Arch>::sums(part);
}
}  // namespace detail

/// The features that a query and a key have.
struct feature_counts {
    index_t query, key;
};

/// The sum of a body over the features of each pair of one vector, from `first` on. `pairs(key, head)` gives the
/// pair_rows of one of `keys` keys and a head; lanes after the last pair are unspecified. `joined`: fills_vectors and
/// joins_heads are true.
template <class T, class Arch, class Body, class Pairs>
FOVEA_INLINE pack<T, Arch> head_sums(Body const& body, head_lanes const& layout, index_t first, index_t keys,
                                     Pairs const& pairs, index_t features, bool joined) {
    if (joined) {
        if (features == pack<T, Arch>::lanes)
            return detail::joined_sums_of_heads<1, T, Arch>(body, layout, first, keys, pairs);
        return detail::joined_sums_of_heads<2, T, Arch>(body, layout, first, keys, pairs);
    }
    if (layout.heads == 1) return detail::separate_sums<true, T, Arch>(body, layout, first, keys, pairs, features);
    return detail::separate_sums<false, T, Arch>(body, layout, first, keys, pairs, features);
}

/// The same over the features of a sum, of which some do not join heads.
template <class T, class Arch, class Over, class Body, class Pairs>
FOVEA_INLINE pack<T, Arch> head_sums_over(Over const& over, Body const& body, head_lanes const& layout, index_t first,
                                          index_t keys, Pairs const& pairs, feature_counts const& features,
                                          bool joined) {
    auto const [first_feature, count] = over.of(features.query, features.key);
    if constexpr (Over::takes_all) {
        return head_sums<T, Arch>(body, layout, first, keys, pairs, count, joined);
    } else {
        auto const some = [pairs, skipped = first_feature](index_t key, index_t head) FOVEA_LAMBDA {
            auto at = pairs(key, head);
            at.query += skipped;
            at.key += skipped;
            return at;
        };
        return head_sums<T, Arch>(body, layout, first, keys, some, count, false);
    }
}

}  // namespace fovea::FOVEA_SET::kernel
