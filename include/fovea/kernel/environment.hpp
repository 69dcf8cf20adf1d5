// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Environments: the values of names in an expression at one place of a loop, and whether its integers take 32 or 64
// bits.
#pragma once

#include <fovea/expr/analyze.hpp>
#include <fovea/expr/evaluate.hpp>
#include <fovea/kernel/lookup.hpp>
#include <fovea/plan/lower.hpp>
#include <fovea/plan/one_sided.hpp>

namespace fovea::FOVEA_SET::kernel {

/// A value as a pack: a number is the same in all lanes.
template <class T, class Arch, class X>
FOVEA_INLINE pack<T, Arch> as_pack(X const& x) {
    if constexpr (lane_indices<X>) return x.to_real();
    else return pack<T, Arch>(x);
}

/// The names of another environment, with integers of 64 bits in every lane.
template <class T, class Arch, class Names>
struct exact_environment {
    Names const& names;

    template <class X>
    static auto exact(X const& x) {
        if constexpr (lane_indices<X>) return wide_pack<T, Arch>(x);
        else return x;
    }
    struct arithmetic : Names::arithmetic {
        static auto chosen_integer(auto const& x) { return exact(x); }
    };
    template <class Name>
    auto operator()(Name name) const {
        return exact(names(name));
    }
    template <class Body, class Over>
    auto sum(Body const& body, Over const& over) const {
        return names.sum(body, over);
    }
    template <class Element, int Rank, class... Index>
    auto lookup(view<Element const, Rank> const& table, Index const&... at) const {
        if constexpr (sizeof...(Index) == Rank) return exact(look_up<T, Arch, true>(table, at...));
        else return names.lookup(table, at...);
    }
};

/// The names of another environment where all integers fit their lanes, as has been found for the whole call.
template <class T, class Arch, class Names>
struct narrow_environment {
    Names const& names;

    struct arithmetic : Names::arithmetic {
        template <class X>
        FOVEA_INLINE static auto chosen_integer(X const& x) {
            if constexpr (is_either_integer<X> || is_exact_pack<X>) return low_halves(x);
            else return x;
        }
    };
    template <class Name>
    FOVEA_INLINE auto operator()(Name name) const {
        return names(name);
    }
    template <class Body, class Over>
    FOVEA_INLINE auto sum(Body const& body, Over const& over) const {
        return names.sum(body, over);
    }
    template <class Element, int Rank, class... Index>
    FOVEA_INLINE auto lookup(view<Element const, Rank> const& table, Index const&... at) const {
        return names.lookup(table, at...);
    }
};

/// Where integers of 64 bits may be needed at all: beside floats, in expressions that are more than a difference of
/// positions or tables of fewer bits.
template <class T, class... E>
inline constexpr bool asks_for_exact = sizeof(T) == 4 && (may_exceed_32_bits<E> || ...);

/// The value of an expression in lanes, integers narrow or exact.
template <class T, class Arch, bool Exact, class E, class Names>
FOVEA_INLINE auto evaluate_in_lanes(E const& e, Names const& names) {
    if constexpr (Exact) return evaluate(e, exact_environment<T, Arch, Names>{names});
    else if constexpr (chooses_integer<E>) return evaluate(e, narrow_environment<T, Arch, Names>{names});
    else return evaluate(e, names);
}
template <class T, class Arch, class E, class Names>
[[gnu::noinline]] auto evaluate_exactly(E const& e, Names const& names) {
    return evaluate_in_lanes<T, Arch, true>(e, names);
}

/// The value of an expression as a pack, and of a condition as a mask, whichever integers this call needs.
template <class T, class Arch, class E, class Names>
FOVEA_INLINE pack<T, Arch> value_in_lanes(E const& e, Names const& names) {
    if constexpr (asks_for_exact<T, E>)
        if (names.row.exact) [[unlikely]]
            return as_pack<T, Arch>(evaluate_exactly<T, Arch>(e, names));
    return as_pack<T, Arch>(evaluate_in_lanes<T, Arch, false>(e, names));
}
template <class T, class Arch, class E, class Names>
FOVEA_INLINE lane_mask<T, Arch> mask_in_lanes(E const& e, Names const& names) {
    if constexpr (asks_for_exact<T, E>)
        if (names.row.exact) [[unlikely]]
            return lane_mask<T, Arch>::all() && evaluate_exactly<T, Arch>(e, names);
    return lane_mask<T, Arch>::all() && evaluate_in_lanes<T, Arch, false>(e, names);
}

/// The coordinates of one row, the same for all its keys.
struct row_coordinates {
    index_t batch = 0;
    index_t head = 0;
    index_t q_idx = 0;
    index_t q_len = 0;
    index_t kv_len = 0;
    index_t dim = 0;
    bool exact = false;              // integers of this call may need more bits than a lane has
    index_t const* edges = nullptr;  // where keys are listed, the number of each in the whole list
};

/// Names that stand for one number per row; the key positions are what `Keys` is: a number, or one per lane.
template <class T, class Arch, class Keys>
struct index_environment {
    using arithmetic = call_arithmetic<T, Arch>;
    row_coordinates const& row;
    Keys keys;
    index_t column = 0;  // of the (first) key in its row

    FOVEA_INLINE index_t operator()(q_idx_t) const { return row.q_idx; }
    FOVEA_INLINE Keys operator()(kv_idx_t) const { return keys; }
    FOVEA_INLINE auto operator()(edge_t) const {
        if constexpr (std::is_same_v<Keys, index_t>) {
            return row.edges[column];
        } else {
            wide_pack<T, Arch> numbers;
            for (std::size_t i = 0; i < numbers.lane.size(); ++i)
                numbers.lane[i] = row.edges[column + static_cast<index_t>(i)];
            return numbers;
        }
    }
    FOVEA_INLINE index_t operator()(head_t) const { return row.head; }
    FOVEA_INLINE index_t operator()(batch_t) const { return row.batch; }
    FOVEA_INLINE index_t operator()(q_len_t) const { return row.q_len; }
    FOVEA_INLINE index_t operator()(kv_len_t) const { return row.kv_len; }
    FOVEA_INLINE index_t operator()(dim_t) const { return row.dim; }
    FOVEA_INLINE T operator()(plan::unit) const { return T{1}; }

    template <class Element, int Rank, class... Index>
    FOVEA_INLINE auto lookup(view<Element const, Rank> const& table, Index const&... at) const {
        static_assert(sizeof...(Index) == Rank, "fovea: a table outside sum() needs an index for each of its axes");
        return look_up<T, Arch>(table, at...);
    }
};

/// The environment inside sum() with features in lanes: features offset, offset + 1, ... of one query and one key.
template <class T, class Arch, class Q, class K, class Base>
struct feature_environment : Base {
    Q const* query;
    K const* key;
    index_t offset;
    index_t count;  // features left from the offset on

    using Base::operator();
    FOVEA_INLINE auto operator()(q_t) const { return load_as<T, Arch>(query + offset, count); }
    FOVEA_INLINE auto operator()(k_t) const { return load_as<T, Arch>(key + offset, count); }

    template <class Element, int Rank, class... Index>
    FOVEA_INLINE auto lookup(view<Element const, Rank> const& table, Index const&... at) const {
        if constexpr (sizeof...(Index) == Rank) {
            return Base::lookup(table, at...);
        } else {
            static_assert(sizeof...(Index) + 1 == Rank,
                          "fovea: a table has at most one axis without an index, the one of the features");
            return load_as<T, Arch>(table.data + clamped_offset(table, at...) + offset, count);
        }
    }
};

/// Calls f(offset, value) with the value of a body at each run of features, zeros after the last feature.
template <class T, class Arch, class Body, class Base, class Q, class K, class F>
FOVEA_INLINE void for_features(Body const& body, Base const& base, Q const* query, K const* key, index_t features,
                               F f) {
    using vector = pack<T, Arch>;
    for (index_t c = 0; c < features; c += vector::lanes) {
        feature_environment<T, Arch, Q, K, Base> const here{base, query, key, c, features - c};
        auto const value = as_pack<T, Arch>(evaluate(body, here));
        f(c,
          features - c >= vector::lanes ? value : select(vector::iota() < vector(features - c), value, vector(T{0})));
    }
}

/// The sum of a body over the features of one query and one key.
template <class T, class Arch, class Body, class Base, class Q, class K>
FOVEA_INLINE T sum_features(Body const& body, Base const& base, Q const* query, K const* key, index_t features) {
    pack<T, Arch> total(T{0});
    for_features<T, Arch>(body, base, query, key, features, [&](index_t, auto const& value) { total = total + value; });
    return lanes_of<T, Arch>::sum(total);
}

/// One query and one key, each a number: terms of one side, and the indices.
template <class T, class Arch, class Q, class K>
struct single_environment : index_environment<T, Arch, index_t> {
    Q const* query;
    K const* key;
    index_t query_features;
    index_t key_features;

    using base = index_environment<T, Arch, index_t>;
    using base::operator();
    template <class Body, class Over>
    T sum(Body const& body, Over const& over) const {
        auto const [first, count] = over.of(query_features, key_features);
        return sum_features<T, Arch>(body, static_cast<base const&>(*this), query + first, key + first, count);
    }
};

/// One query, whose keys are in lanes.
struct one_query {
    FOVEA_INLINE index_t query(row_coordinates const& row) const { return row.q_idx; }
    FOVEA_INLINE index_t head(row_coordinates const& row) const { return row.head; }
};

/// Rows in lanes that are neighbouring queries of one head.
template <class T, class Arch>
struct neighbouring_queries {
    FOVEA_INLINE positions<T, Arch> query(row_coordinates const& first) const { return {first.q_idx}; }
    FOVEA_INLINE index_t head(row_coordinates const& first) const { return first.head; }
    FOVEA_INLINE static row_coordinates row(row_coordinates first, index_t lane) {
        first.q_idx += lane;
        return first;
    }
};

/// Rows in lanes that are queries of several heads.
template <class T, class Arch>
struct queries_of_heads {
    integer_like<T> const* queries;
    integer_like<T> const* heads;
    FOVEA_INLINE auto query(row_coordinates const&) const { return index_pack<T, Arch>::load(queries); }
    FOVEA_INLINE auto head(row_coordinates const&) const { return index_pack<T, Arch>::load(heads); }
    FOVEA_INLINE row_coordinates row(row_coordinates first, index_t lane) const {
        first.q_idx = queries[lane];
        first.head = heads[lane];
        return first;
    }
};

/// Integers of the operand that is in lanes, and of the other.
template <class T, bool InLanes>
using term_index = std::conditional_t<InLanes, integer_like<T>, index_t>;

/// One vector of a tile of scores, of one row at consecutive keys or, with queries in lanes, of a vector of rows at one
/// key: what the parts of a lowered score are there. The coordinates are those of the (first) row.
template <class T, class Arch, class Keys, class Rows>
struct score_environment : index_environment<T, Arch, Keys> {
    static constexpr bool queries_in_lanes = std::is_same_v<Keys, index_t>;

    Rows rows;
    T const* planes = nullptr;  // scores: one plane per product, then one per pairwise term
    index_t plane_stride = 0;
    index_t products = 0;
    T const* row_terms = nullptr;  // (terms, row_stride), of the (first) row
    index_t row_stride = 0;
    T const* key_terms = nullptr;  // (terms, key_stride), of the (first) key
    index_t key_stride = 0;
    term_index<T, queries_in_lanes> const* row_indices = nullptr;  // like the terms
    term_index<T, !queries_in_lanes> const* key_indices = nullptr;
    T const* const* pairs = nullptr;  // elements of tables of pairs: for each read (keys, lanes), and those of this key
    index_t pair = 0;

    using index_environment<T, Arch, Keys>::operator();
    FOVEA_INLINE auto operator()(q_idx_t) const { return rows.query(this->row); }
    FOVEA_INLINE auto operator()(head_t) const { return rows.head(this->row); }
    template <std::size_t I>
    FOVEA_INLINE auto operator()(plan::reference<plan::part::product, I>) const {
        return pack<T, Arch>::load(planes + static_cast<index_t>(I) * plane_stride);
    }
    template <std::size_t I>
    FOVEA_INLINE auto operator()(plan::reference<plan::part::pairwise, I>) const {
        return pack<T, Arch>::load(planes + (products + static_cast<index_t>(I)) * plane_stride);
    }
    template <std::size_t I>
    FOVEA_INLINE auto operator()(plan::reference<plan::part::row_term, I>) const {
        return term<pack<T, Arch>, queries_in_lanes>(row_terms + static_cast<index_t>(I) * row_stride);
    }
    template <std::size_t I>
    FOVEA_INLINE auto operator()(plan::reference<plan::part::key_term, I>) const {
        return term<pack<T, Arch>, !queries_in_lanes>(key_terms + static_cast<index_t>(I) * key_stride);
    }
    template <std::size_t I>
    FOVEA_INLINE auto operator()(plan::index_reference<plan::side::query, I>) const {
        return term<index_pack<T, Arch>, queries_in_lanes>(row_indices + static_cast<index_t>(I) * row_stride);
    }
    template <std::size_t I>
    FOVEA_INLINE auto operator()(plan::index_reference<plan::side::key, I>) const {
        return term<index_pack<T, Arch>, !queries_in_lanes>(key_indices + static_cast<index_t>(I) * key_stride);
    }
    template <class Element, std::size_t I>
    FOVEA_INLINE auto operator()(plan::pair_reference<Element, I>) const {
        auto const elements = pack<T, Arch>::load(pairs[I] + pair);
        if constexpr (fovea::detail::is_truth<Element>) return pack<T, Arch>(T{0}) < elements;
        else if constexpr (!fovea::detail::is_real_number<Element>)
            return index_pack<T, Arch>(registers<T, Arch>::as_integers(elements.value));
        else return elements;
    }

private:
    template <class Vector, bool InLanes, class Number>
    FOVEA_INLINE static auto term(Number const* at) {
        if constexpr (InLanes) return Vector::load(at);
        else return *at;
    }
};

}  // namespace fovea::FOVEA_SET::kernel
