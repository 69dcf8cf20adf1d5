// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/yardstick/eigen_maps.hpp"
#include "bench/yardstick/unfused.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace unfused {
namespace {

/// Row i of the scores of one head.
template <class T, class Row>
void apply(steps<T> const& between, Row row, index_t i, index_t head) {
    constexpr T invisible = -std::numeric_limits<T>::infinity();
    index_t const keys = row.size();
    if (!between.alibi_slopes.empty()) {
        T const slope = between.alibi_slopes[static_cast<std::size_t>(head)];
        row.array() += slope * Eigen::Array<T, 1, Eigen::Dynamic>::LinSpaced(keys, static_cast<T>(-i),
                                                                             static_cast<T>(keys - 1 - i));
    }
    if (between.softcap != 0) row = between.softcap * (row.array() / between.softcap).tanh();
    if (between.causal) row.tail(std::max<index_t>(keys - 1 - i, 0)).setConstant(invisible);
    if (between.window != 0) row.head(std::clamp<index_t>(i - between.window + 1, 0, keys)).setConstant(invisible);
}

}  // namespace

template <class T>
fovea::tensor<T, 2> const& attend(fovea::view<T const, 4> query, fovea::view<T const, 4> key,
                                  fovea::view<T const, 4> value, fovea::view<T, 4> result, steps<T> const& between) {
    static thread_local fovea::tensor<T, 2> stored;  // kept between calls, as a program in earnest would
    index_t const queries = query.extent(2), keys = key.extent(2);
    if (stored.extents != fovea::extents_t<2>{queries, keys}) stored = fovea::tensor<T, 2>({queries, keys});
    Eigen::Map<matrix<T>> scores(stored.data(), queries, keys);

    auto const scale = 1 / std::sqrt(static_cast<T>(query.extent(3)));
    auto const group = query.extent(1) / key.extent(1);
    for (index_t batch = 0; batch < query.extent(0); ++batch)
        for (index_t head = 0; head < query.extent(1); ++head) {
            scores.noalias() = scale * head_of(query, batch, head) * head_of(key, batch, head / group).transpose();
            for (index_t i = 0; i < queries; ++i) {
                apply(between, scores.row(i), i, head);
                softmax(scores.row(i));
            }
            head_of(result, batch, head).noalias() = scores * head_of(value, batch, head / group);
        }
    return stored;
}

template <class T>
void additive(fovea::view<T const, 4> query, fovea::view<T const, 4> key, fovea::view<T const, 4> value,
              fovea::view<T const, 1> v, fovea::view<T, 4> result) {
    Eigen::Map<vector<T> const> const weights(v.data, v.extent(0));
    matrix<T> scores(query.extent(2), key.extent(2)), hidden;
    for (index_t batch = 0; batch < query.extent(0); ++batch)
        for (index_t head = 0; head < query.extent(1); ++head) {
            auto const q = head_of(query, batch, head), k = head_of(key, batch, head);
            for (index_t i = 0; i < q.rows(); ++i) {
                hidden = (k.rowwise() + q.row(i)).array().tanh();
                scores.row(i).noalias() = (hidden * weights).transpose();
                softmax(scores.row(i));
            }
            head_of(result, batch, head).noalias() = scores * head_of(value, batch, head);
        }
}

template fovea::tensor<float, 2> const& attend(fovea::view<float const, 4>, fovea::view<float const, 4>,
                                               fovea::view<float const, 4>, fovea::view<float, 4>,
                                               steps<float> const&);
template fovea::tensor<double, 2> const& attend(fovea::view<double const, 4>, fovea::view<double const, 4>,
                                                fovea::view<double const, 4>, fovea::view<double, 4>,
                                                steps<double> const&);
template void additive(fovea::view<float const, 4>, fovea::view<float const, 4>, fovea::view<float const, 4>,
                       fovea::view<float const, 1>, fovea::view<float, 4>);

}  // namespace unfused
