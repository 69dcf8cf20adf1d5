// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Environments of the reference: the names of an expression as plain numbers, one pair at a time. Real is the type that
// the reference computes in: double for the definition, another type to see what that type loses.
#pragma once

#include <fovea/expr/analyze.hpp>
#include <fovea/expr/evaluate.hpp>

#include <array>
#include <span>
#include <string>
#include <type_traits>

namespace fovea::FOVEA_SET::reference {

/// An element of a table for one feature: real, whatever the table holds.
template <class Real, class T>
constexpr auto real_number(T const& x) {
    if constexpr (std::is_same_v<T, index_t>) return static_cast<Real>(x);
    else return x;
}

/// True of numbers that record how they were computed (reference/recorded.hpp).
template <class Real>
inline constexpr bool is_recorded = false;

/// An element of a table in the arithmetic of Real, which may take note of where it was read.
template <class Real, class T, int Rank, class... Index>
auto element_of(view<T, Rank> const& table, Index... at) {
    if constexpr (std::is_floating_point_v<std::remove_const_t<T>> || !std::is_arithmetic_v<std::remove_const_t<T>>)
        if constexpr (requires { Real::of_table(table, at...); }) return Real::of_table(table, at...);
        else return arithmetic_in<Real>::constant(table(at...));
    else return arithmetic_in<Real>::constant(table(at...));
}

/// read: an element of a table.
///
/// Errors: shape_error for an index that is out of range, naming the indices and the extents.
template <class Real, class T, int Rank, class... Index>
auto read(view<T const, Rank> const& table, Index... at) {
    static_assert(sizeof...(Index) == Rank, "fovea: a table outside sum() needs an index for each of its axes");
    static_assert((std::is_integral_v<Index> && ...), "fovea: the index of a table must be an integer expression");
    extents_t<Rank> const indices{static_cast<index_t>(at)...};
    for (int axis = 0; axis < Rank; ++axis) {
        auto const i = indices[static_cast<std::size_t>(axis)];
        if (i < 0 || i >= table.extent(axis))
            raise_error(shape_error("a table of extents ", table.extents, " is read at ", indices, ": index ", axis,
                                    " is ", i, ", it must be from 0 to ", table.extent(axis) - 1));
    }
    return element_of<Real>(table, at...);
}

/// The meaning of numbers and tables, whatever the names mean.
template <class Real>
struct number_environment {
    using arithmetic = arithmetic_in<Real>;
    template <class T, int Rank, class... Index>
    auto lookup(view<T const, Rank> const& table, Index... at) const {
        return read<Real>(table, at...);
    }
};

/// The meaning of indices and lengths: all that a mask may use.
template <class Real>
struct index_environment : number_environment<Real> {
    index_t batch = 0, head = 0, query = 0, key = 0;
    index_t queries = 0, keys = 0, dim = 0;
    index_t edge_number = 0;

    constexpr index_t operator()(batch_t) const { return batch; }
    constexpr index_t operator()(head_t) const { return head; }
    constexpr index_t operator()(q_idx_t) const { return query; }
    constexpr index_t operator()(kv_idx_t) const { return key; }
    constexpr index_t operator()(edge_t) const { return edge_number; }
    constexpr index_t operator()(q_len_t) const { return queries; }
    constexpr index_t operator()(kv_len_t) const { return keys; }
    constexpr index_t operator()(dim_t) const { return dim; }
};

/// The meaning of a score: indices, and sums over the features of one query and one key.
template <class Real>
struct pair_environment : index_environment<Real> {
    std::span<Real const> query_features, key_features;

    template <class Body, class Over>
    Real sum(Body const& body, Over const& over) const;
};

/// The meaning of a reweighting: one weight of a row, and indices.
template <class Real>
struct weight_environment : index_environment<Real> {
    Real weight = 0;

    using index_environment<Real>::operator();
    Real operator()(weight_t) const { return weight; }
};

/// The coordinates of a row that a normalizer may read.
template <class Real>
struct coordinates_of_row {
    index_environment<Real> const& at;

    template <class E>
    Real operator()(E const& e) const {
        return static_cast<Real>(evaluate(e, at));
    }
};

/// The names inside a sum, at one of the features it runs over: a table with one axis without an index is read there.
template <class Real>
struct feature_environment : pair_environment<Real> {
    std::size_t first = 0;  // of these features
    std::size_t feature = 0;

    using pair_environment<Real>::operator();
    Real operator()(q_t) const { return this->query_features[first + feature]; }
    Real operator()(k_t) const { return this->key_features[first + feature]; }

    template <class T, int Rank, class... Index>
    auto lookup(view<T const, Rank> const& table, Index... at) const {
        if constexpr (sizeof...(Index) + 1 == Rank)
            return real_number<Real>(read<Real>(table, at..., static_cast<index_t>(feature)));
        else return read<Real>(table, at...);
    }
};

template <class Real>
template <class Body, class Over>
Real pair_environment<Real>::sum(Body const& body, Over const& over) const {
    auto const [first, count] = over.of(std::ssize(query_features), std::ssize(key_features));
    feature_environment<Real> at{*this, static_cast<std::size_t>(first)};
    Real total = 0;
    for (; at.feature < static_cast<std::size_t>(count); ++at.feature) total += static_cast<Real>(evaluate(body, at));
    return total;
}

/// The meaning of a map of the result: one feature of it, where it stands, and tables over the features.
template <class Real>
struct result_environment : number_environment<Real> {
    Real value = 0;
    index_t batch = 0, query = 0, queries = 0;
    index_t feature = 0;  // heads side by side

    constexpr Real operator()(out_t) const { return value; }
    constexpr index_t operator()(batch_t) const { return batch; }
    constexpr index_t operator()(q_idx_t) const { return query; }
    constexpr index_t operator()(q_len_t) const { return queries; }

    template <class T, int Rank, class... Index>
    auto lookup(view<T const, Rank> const& table, Index... at) const {
        if constexpr (sizeof...(Index) + 1 == Rank) return real_number<Real>(read<Real>(table, at..., feature));
        else return read<Real>(table, at...);
    }
};

}  // namespace fovea::FOVEA_SET::reference
