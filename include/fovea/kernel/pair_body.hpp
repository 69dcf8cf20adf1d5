// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The body of a sum for one pair: where its tables begin is found once for all features, which then are read like those
// of the query and the key.
#pragma once

#include <fovea/kernel/environment.hpp>
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

}  // namespace fovea::FOVEA_SET::kernel
