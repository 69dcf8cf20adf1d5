// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/yardstick/unfused_dense.hpp"

namespace unfused {

template <class T>
fovea::tensor<T, 2> const& attend(fovea::view<T const, 4> query, fovea::view<T const, 4> key,
                                  fovea::view<T const, 4> value, fovea::view<T, 4> result, steps<T> const& between) {
    return attend_with<eigen_products, T>(query, key, value, result, between);
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

template <class T>
fovea::tensor<T, 2> product(fovea::view<T const, 2> a, fovea::view<T const, 2> b) {
    using operand = Eigen::Map<matrix<T> const>;
    fovea::tensor<T, 2> result({a.extent(0), b.extent(1)});
    Eigen::Map<matrix<T>>(result.data(), a.extent(0), b.extent(1)).noalias() =
        operand(a.data, a.extent(0), a.extent(1)) * operand(b.data, b.extent(0), b.extent(1));
    return result;
}

template <class T>
fovea::tensor<T, 4> unit_rows(fovea::view<T const, 4> rows) {
    fovea::tensor<T, 4> result(rows.extents);
    for (index_t batch = 0; batch < rows.extent(0); ++batch)
        for (index_t head = 0; head < rows.extent(1); ++head)
            head_of(result.view(), batch, head) = head_of(rows, batch, head).rowwise().normalized();
    return result;
}

template fovea::tensor<float, 2> const& attend(fovea::view<float const, 4>, fovea::view<float const, 4>,
                                               fovea::view<float const, 4>, fovea::view<float, 4>, steps<float> const&);
template fovea::tensor<double, 2> const& attend(fovea::view<double const, 4>, fovea::view<double const, 4>,
                                                fovea::view<double const, 4>, fovea::view<double, 4>,
                                                steps<double> const&);
template void additive(fovea::view<float const, 4>, fovea::view<float const, 4>, fovea::view<float const, 4>,
                       fovea::view<float const, 1>, fovea::view<float, 4>);
template fovea::tensor<float, 2> product(fovea::view<float const, 2>, fovea::view<float const, 2>);
template fovea::tensor<float, 4> unit_rows(fovea::view<float const, 4>);

}  // namespace unfused
