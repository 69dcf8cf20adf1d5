// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradient of the body of a sum for one pair, with the gradients of the tables that it reads.
#pragma once

#include <fovea/expr/backpropagate.hpp>
#include <fovea/kernel/backward/scatter.hpp>
#include <fovea/kernel/head_sums.hpp>

namespace fovea::FOVEA_SET::kernel {

/// The row of a table that a pair reads feature by feature, and where its gradient is summed, or nullptr.
template <class T, class Element, bool Of_head>
struct summed_row {
    using expression_tag = void;
    Element const* first;
    T* sums;
};
/// An element of a table that is the same for all features of a pair, and the sum of its gradient.
template <class T, class Element>
struct summed_element {
    using expression_tag = void;
    Element value;
    T* sum;
};
template <class E>
inline constexpr bool is_summed = false;
template <class T, class Element, bool Of_head>
inline constexpr bool is_summed<summed_row<T, Element, Of_head>> = true;
template <class T, class Element>
inline constexpr bool is_summed<summed_element<T, Element>> = true;

/// A read of a table, and the sums of its gradient; these have no memory where nobody asks for it.
template <class Read, class Sums>
struct read_with_sums {
    using expression_tag = void;
    Read read;
    Sums sums;
};
template <class E>
inline constexpr bool has_sums_beside = false;
template <class Read, class Sums>
inline constexpr bool has_sums_beside<read_with_sums<Read, Sums>> = true;
template <class Operation, class... Children>
inline constexpr bool has_sums_beside<node<Operation, Children...>> = (has_sums_beside<Children> || ...);

/// An expression whose tables that `Tables` takes go along with the sums of their gradients, the same for all pairs.
template <bool Heads_differ, class T, class E, class Tables>
FOVEA_INLINE auto with_sums_beside(E const& e, Tables const& tables) {
    if constexpr (is_parameter<E> || is_node_of<at_operation, E>) {
        auto const& table = fovea::detail::table_of(e);
        using table_type = std::remove_cvref_t<decltype(table)>;
        using element = std::remove_const_t<typename table_type::value_type>;
        if constexpr (!Tables::template takes<parameter<element, table_type::rank>>
                      || (free_axes_of<E> == 0 && Heads_differ && uses<E, head_t>))
            return e;
        else return read_with_sums<E, view<T, table_type::rank>>{e, tables.sums(table)};
    } else if constexpr (is_node<E> && reads_a_table<E>) {
        return with_children(e, [&](auto const&... children) FOVEA_LAMBDA {
            return make_node<typename E::operation>(with_sums_beside<Heads_differ, T>(children, tables)...);
        });
    } else {
        return e;
    }
}

/// As body_of_pair, where tables have sums beside them.
template <bool Heads_differ, class T, class E, class Names>
FOVEA_INLINE auto summed_body(E const& e, Names const& names) {
    if constexpr (!has_sums_beside<E>) {
        return body_of_pair<Heads_differ>(e, names);
    } else if constexpr (is_node<E>) {
        return with_children(e, [&](auto const&... children) FOVEA_LAMBDA {
            return make_node<typename E::operation>(summed_body<Heads_differ, T>(children, names)...);
        });
    } else {
        using read = std::remove_cvref_t<decltype(e.read)>;
        auto const& table = fovea::detail::table_of(e.read);
        using element = std::remove_const_t<typename std::remove_cvref_t<decltype(table)>::value_type>;
        auto const at = [&](auto const&... index) FOVEA_LAMBDA {
            T* const sums = e.sums.data == nullptr ? nullptr : e.sums.data + clamped_offset(e.sums, index...);
            if constexpr (free_axes_of<read> == 0)
                return summed_element<T, element>{table.data[clamped_offset(table, index...)], sums};
            else return summed_row<T, element, uses<read, head_t>>{row_at(table, index...), sums};
        };
        if constexpr (is_parameter<read>) return at();
        else
            return with_children(e.read, [&](auto const&, auto const&... indices)
                                             FOVEA_LAMBDA { return at(evaluate(indices, names)...); });
    }
}

/// Features of a pair in lanes, of one head or of several, with the tables of summed_body.
template <class T, class Features>
struct summed_features : Features {
    using Features::operator();
    template <class Element, bool Of_head>
    FOVEA_INLINE auto operator()(summed_row<T, Element, Of_head> const& of) const {
        return Features::operator()(table_row<Element, Of_head>{of.first});
    }
    template <class Element>
    FOVEA_INLINE Element operator()(summed_element<T, Element> const& element) const {
        return element.value;
    }
};

/// Takes the gradients of the features of one side, `Which`, and those of tables. Joined: lanes hold several heads.
template <class Which, bool Joined, class T, class Arch, class Tables>
struct side_cotangents {
    struct cotangent_kinds {
        template <class E>
        static constexpr bool takes = [] {
            if constexpr (is_parameter<E>) return Tables::template takes<E>;
            else return std::is_same_v<E, Which> || is_summed<E>;
        }();
    };
    using vector = pack<T, Arch>;
    vector& sum;
    Tables const& tables;

    template <class Names>
    FOVEA_INLINE void name(Names const&, vector const& amount, Which) const {
        sum = sum + amount;
    }
    template <class Names, class Element, bool Of_head>
    FOVEA_INLINE void name(Names const& at, vector const& amount, summed_row<T, Element, Of_head> const& row) const {
        if (row.sums == nullptr) return;
        if constexpr (!Joined) {
            add_to<T, Arch>(row.sums + at.offset, amount, at.count);
        } else if constexpr (Of_head) {
            add_to<T, Arch>(row.sums + at.offset, amount, vector::lanes);
        } else {
            auto const lane = lanes_of<T, Arch>::to_array(amount);
            for (std::size_t l = 0; l < lane.size(); ++l)
                row.sums[static_cast<index_t>(l) & ((index_t{1} << at.shift) - 1)] += lane[l];
        }
    }
    template <class Names, class Element>
    FOVEA_INLINE void name(Names const&, vector const& amount, summed_element<T, Element> const& element) const {
        if (element.sum != nullptr) *element.sum += lanes_of<T, Arch>::sum(amount);
    }
    template <class Names, class Element, int Rank, class... Index>
    FOVEA_INLINE void table(Names const&, vector const& amount, view<Element const, Rank> const& table,
                            Index const&... index) const {
        if constexpr (sizeof...(Index) == Rank)
            if (view<T, Rank> const to = tables.sums(table); to.data != nullptr) add_at<T, Arch>(to, amount, index...);
    }
};

/// The gradients of sums for pairs of one position, `count` of them: all heads of one pair, then those of the next.
template <class T>
struct pair_amounts {
    T const* amounts;
    index_t count;
    head_lanes const& layout;
};

/// True where the body of a pair reads tables that differ from pair to pair, where the side of `Which` stays.
template <class Which, class Body>
inline constexpr bool tables_differ =
    reads_a_table<Body> && uses<Body, edge_t, std::conditional_t<std::is_same_v<Which, q_t>, kv_idx_t, q_idx_t>>;

namespace detail {
/// Some vectors of the features of one head, or of all heads, from `column` on.
template <class Which, bool Joined, int Vectors, class T, class Arch, class Body, class Pairs, class Tables>
[[gnu::noinline]] void some_features(Body const& body, pair_amounts<T> const& from, index_t head, int shift,
                                     index_t column, index_t columns, Pairs const& all_pairs, T* to,
                                     Tables const& tables) {
    using vector = pack<T, Arch>;
    constexpr index_t width = vector::lanes;
    auto const pairs = all_pairs;  // a copy stays in registers
    auto const with_sums = with_sums_beside<Joined, T>(body, tables);
    auto const of_pair = [&](auto const& names) FOVEA_LAMBDA { return summed_body<Joined, T>(with_sums, names); };
    auto const first = pairs(0, head);
    auto const names_of_first = first.template names<T, Arch>();
    auto const same = of_pair(names_of_first);
    index_t const stride = from.layout.padded_heads;
    c_array<vector, Vectors> sum;
    unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { sum[v] = vector(T{0}); });
    [[maybe_unused]] auto const lanes = lanes_shifted<T, Arch>(shift);
    for (index_t e = 0; e < from.count; ++e) {
        T const* const amounts = from.amounts + e * stride + head;
        if constexpr (!Joined)
            if (*amounts == T{0}) continue;
        auto const at = pairs(e, head);
        auto const names = at.template names<T, Arch>();
        auto const here = [&]() FOVEA_LAMBDA {
            if constexpr (tables_differ<Which, Body>) return of_pair(names);
            else return same;
        }();
        using base = std::remove_const_t<decltype(names)>;
        using query = std::remove_cvref_t<decltype(*at.query)>;
        using key = std::remove_cvref_t<decltype(*at.key)>;
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA {
            index_t const c = column + v * width;
            side_cotangents<Which, Joined, T, Arch, Tables> const cotangents{sum[v], tables};
            if constexpr (Joined) {
                using features = joined_features<T, Arch, base, query, key>;
                auto const amount = lane_groups_of<T, Arch>::permuted(vector::load(amounts + (c >> shift)), lanes);
                backpropagate(here,
                              summed_features<T, features>{features{names, at.query, at.key, c, c >> shift, shift}},
                              amount, cotangents);
            } else {
                constexpr bool whole = Vectors > 1;
                using features = pair_features<whole, T, Arch, query, key, base>;
                vector amount(*amounts);
                if (!whole && columns - c < width)
                    amount = select(vector::iota() < vector(columns - c), amount, vector(T{0}));
                backpropagate(here, summed_features<T, features>{features{names, at.query, at.key, c, columns - c}},
                              amount, cotangents);
            }
        });
    }
    if (to == nullptr) return;
    unrolled<Vectors>([&](auto v) FOVEA_LAMBDA {
        index_t const c = column + v * width;
        add_to<T, Arch>(to + c, sum[v], columns - c);
    });
}

template <class Which, bool Joined, class T, class Arch, class Body, class Pairs, class Tables>
FOVEA_INLINE void all_features(Body const& body, pair_amounts<T> const& from, index_t head, int shift, index_t columns,
                               Pairs const& pairs, T* to, Tables const& tables) {
    constexpr index_t width = pack<T, Arch>::lanes;
    constexpr int most = 4;
    index_t c = 0;
    for (; c + most * width <= columns; c += most * width)
        some_features<Which, Joined, most, T, Arch>(body, from, head, shift, c, columns, pairs, to, tables);
    for (; c < columns; c += width)
        some_features<Which, Joined, 1, T, Arch>(body, from, head, shift, c, columns, pairs, to, tables);
}
}  // namespace detail

/// Adds the gradients of a sum for some pairs of one position to those of its features: `to(head)`, which is nullptr
/// where they are not asked for. `pairs(n, head)` gives the pair_rows of a pair. `joined`: rows of all heads are
/// contiguous, and fill whole vectors.
template <class Which, class T, class Arch, class Over, class Body, class Pairs, class To, class Tables>
FOVEA_INLINE void feature_gradients(Over const& over, Body const& body, pair_amounts<T> const& from, Pairs const& pairs,
                                    feature_counts const& features, bool joined, To const& to, Tables const& tables) {
    if (from.count == 0) return;
    auto const span = over.of(features.query, features.key);
    index_t const first = span.first, count = span.count;
    if constexpr (Over::takes_all)
        if (joined) {
            int const shift = std::countr_zero(static_cast<unsigned>(count));
            return detail::all_features<Which, true, T, Arch>(body, from, 0, shift, from.layout.heads * count, pairs,
                                                              to(0), tables);
        }
    auto const some = [pairs, first](index_t pair, index_t head) FOVEA_LAMBDA {
        auto at = pairs(pair, head);
        at.query += first;
        at.key += first;
        return at;
    };
    for (index_t h = 0; h < from.layout.heads; ++h) {
        T* const row = to(h);
        detail::all_features<Which, false, T, Arch>(body, from, h, 0, count, some, row == nullptr ? row : row + first,
                                                    tables);
    }
}

/// True where vectors of the features of all heads can be joined: contiguous rows whose features divide a vector.
template <class T, class Arch>
constexpr bool joins_columns(index_t features, index_t stride, head_lanes const& layout) {
    constexpr index_t width = pack<T, Arch>::lanes;
    return stride == features && features > 0 && features <= width && (features & (features - 1)) == 0
        && layout.padded_heads == layout.heads && features * layout.heads % width == 0;
}

/// Takes the gradient of a term of one side and one head: to its tables, and to features through `features_of`.
template <class T, class Tables, class Features>
struct term_cotangents {
    struct cotangent_kinds {
        template <class E>
        static constexpr bool takes = [] {
            if constexpr (is_parameter<E>) return Tables::template takes<E>;
            else return std::is_same_v<E, q_t> || std::is_same_v<E, k_t>;
        }();
    };
    Tables const& tables;
    Features const& features_of;

    template <class Names, class Element, int Rank, class... Index>
    void table(Names const&, T amount, view<Element const, Rank> const& table, Index const&... index) const {
        if constexpr (sizeof...(Index) == Rank)
            if (view<T, Rank> const to = tables.sums(table); to.data != nullptr)
                to.data[clamped_offset(to, index...)] += amount;
    }
    template <class Names, class Body, class Over>
    void sum(Names const&, T amount, Body const& body, Over const& over) const {
        features_of(amount, body, over);
    }
    template <class Names, class Name>
    void name(Names const&, T, Name) const {}
};

}  // namespace fovea::FOVEA_SET::kernel
