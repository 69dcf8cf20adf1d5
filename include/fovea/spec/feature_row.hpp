// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/index.hpp>

#include <concepts>
#include <utility>

namespace fovea::FOVEA_SET {

/// Where a row of features stands, once the rows are cut into heads.
struct head_place {
    index_t batch = 0;
    index_t head = 0;
    index_t position = 0;
};

/// feature_row: the features of one head at one position, as maps of them see it.
///
///     row.sum(f)                      the sum of f(x) over the features
///     row.map(f)                      each feature x becomes f(x)
///     row.map(f, table)               each feature x becomes f(x, t), t the element of a table at that feature
///     row.map_halves(n, f, a, b)      the features i and n + i become f(x, y, a_i, b_i), a pair of values
///     row.map_neighbors(n, f, a, b)   the same for the features 2 i and 2 i + 1
///     row.size(), row[i]              single features
///
/// f is generic: it takes numbers or batches of them.
template <class R>
concept feature_row = requires(R row, index_t i, typename R::value_type const* table) {
    { row.size() } -> std::convertible_to<index_t>;
    {
        row.sum([](auto x) { return x; })
    } -> std::convertible_to<typename R::value_type>;
    row[i];
    row.map([](auto x) { return x; });
    row.map([](auto x, auto) { return x; }, table);
    row.map_halves(i, [](auto x, auto y, auto, auto) { return std::pair(x, y); }, table, table);
    row.map_neighbors(i, [](auto x, auto y, auto, auto) { return std::pair(x, y); }, table, table);
};

/// feature_row_archetype: the least that a feature_row offers; concepts are checked against it.
template <class T>
struct feature_row_archetype {
    using value_type = T;
    T* features = nullptr;
    index_t size() const { return 0; }
    T& operator[](index_t i) const { return features[i]; }
    T sum(auto f) const { return static_cast<T>(f(T{})); }
    void map(auto f) const { static_cast<void>(f(T{})); }
    void map(auto f, auto const*) const { static_cast<void>(f(T{}, T{})); }
    void map_halves(index_t, auto f, T const*, T const*) const { static_cast<void>(f(T{}, T{}, T{}, T{})); }
    void map_neighbors(index_t, auto f, T const*, T const*) const { static_cast<void>(f(T{}, T{}, T{}, T{})); }
};

}  // namespace fovea::FOVEA_SET
