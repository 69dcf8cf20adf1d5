// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "bench/yardstick/eigen_maps.hpp"
#include "bench/yardstick/unfused.hpp"

#include <algorithm>
#include <cmath>

namespace unfused {

/// The two matrix products of attention by Eigen. Another library has functions of the same names.
struct eigen_products {
    /// scores = scale query key^T
    template <class T, class Query, class Key>
    static void compare(T scale, Query const& query, Key const& key, Eigen::Map<matrix<T>> scores) {
        scores.noalias() = scale * query * key.transpose();
    }
    /// result = weights value
    template <class T, class Value, class Result>
    static void combine(Eigen::Map<matrix<T>> const& weights, Value const& value, Result result) {
        result.noalias() = weights * value;
    }
};

/// Row i of the scores of one head becomes weights; keys that are not visible get 0.
template <class T, class Row>
void weigh(steps<T> const& between, Row row, index_t i, index_t head) {
    index_t const keys = row.size();
    index_t const first = between.window ? std::clamp<index_t>(i - between.window + 1, 0, keys) : 0;
    index_t const last = between.causal ? std::min(i + 1, keys) : keys;
    auto visible = row.segment(first, last - first);
    if (!between.alibi_slopes.empty()) {
        T const slope = between.alibi_slopes[static_cast<std::size_t>(head)];
        visible.array() += slope
                         * Eigen::Array<T, 1, Eigen::Dynamic>::LinSpaced(visible.size(), static_cast<T>(first - i),
                                                                         static_cast<T>(last - 1 - i));
    }
    if (between.softcap != 0) visible = between.softcap * (visible.array() / between.softcap).tanh();
    softmax(visible);
    row.head(first).setZero();
    row.tail(keys - last).setZero();
}

/// attend, with the products of a library.
template <class Products, class T>
fovea::tensor<T, 2> const& attend_with(fovea::view<T const, 4> query, fovea::view<T const, 4> key,
                                       fovea::view<T const, 4> value, fovea::view<T, 4> result,
                                       steps<T> const& between) {
    static thread_local fovea::tensor<T, 2> stored;  // kept between calls, as a program in earnest would
    index_t const queries = query.extent(2), keys = key.extent(2);
    if (stored.extents != fovea::extents_t<2>{queries, keys}) stored = fovea::tensor<T, 2>({queries, keys});
    Eigen::Map<matrix<T>> scores(stored.data(), queries, keys);

    auto const scale = between.scale != 0 ? between.scale : 1 / std::sqrt(static_cast<T>(query.extent(3)));
    auto const group = query.extent(1) / key.extent(1);
    for (index_t batch = 0; batch < query.extent(0); ++batch)
        for (index_t head = 0; head < query.extent(1); ++head) {
            Products::compare(scale, head_of(query, batch, head), head_of(key, batch, head / group), scores);
            for (index_t i = 0; i < queries; ++i) weigh(between, scores.row(i), i, head);
            Products::combine(scores, head_of(value, batch, head / group), head_of(result, batch, head));
        }
    return stored;
}

}  // namespace unfused
