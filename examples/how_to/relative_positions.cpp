// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Vectors by distance, added to keys and to values, by matrix products and views whose rows are shifted.
#include "check.hpp"

#include <fovea/gradient.hpp>

using namespace fovea;
using namespace fovea::placeholders;
using namespace how_to;

namespace {

constexpr index_t heads_of_layer = 2, n = 6, d = 4, distances = 2 * n - 1;

//! [shifted]
/// Numbers by query and distance, (head, query, 2n - 1), seen by query and key: element (i, j) is that of j - i + n - 1.
template <class T>
view<T, 3> by_key(tensor<T, 3>& numbers) {
    return {numbers.data() + n - 1, {heads_of_layer, n, n}, {n * distances, distances - 1, 1}};
}
//! [shifted]

}  // namespace

int main() {
    auto const q = random_tensor<4>({1, heads_of_layer, n, d}), k = random_tensor<4>({1, heads_of_layer, n, d}),
               v = random_tensor<4>({1, heads_of_layer, n, d});
    auto const u = random_tensor<2>({heads_of_layer, d}), w = random_tensor<2>({heads_of_layer, d});
    auto const of_distance = random_tensor<4>({1, heads_of_layer, distances, d});  // by -(n - 1) ... n - 1
    tensor<float, 4> result(q.extents);

    // Dai et al. 2019: ((q_i + u) k_j + (q_i + w) r_(j - i)) / sqrt(d)
    auto const score_of = [&](index_t b, index_t h, index_t i, index_t j) {
        double sum = 0;
        for (index_t c = 0; c < d; ++c)
            sum += static_cast<double>(q(b, h, i, c) + u(h, c)) * static_cast<double>(k(b, h, j, c))
                 + static_cast<double>(q(b, h, i, c) + w(h, c))
                       * static_cast<double>(of_distance(b, h, j - i + n - 1, c));
        return sum / std::sqrt(static_cast<double>(d));
    };

    //! [direct]
    // The vector of a pair is a row of the table by head and distance.
    view<float const, 3> const by_distance(of_distance.data(), {heads_of_layer, distances, d});
    auto const row = param(by_distance)(head, kv_idx - q_idx + n - 1);
    auto const direct = compare((sum((q_t{} + param(u)[head]) * k_t{}) + sum((q_t{} + param(w)[head]) * row)) * rsqrt(dim))
                      | softmax | weighted_sum;
    attend(direct, q, k, v, result);
    //! [direct]
    require(difference(result, plain_attention(score_of, heads_of_layer, n, v)) < 1e-5f, "vectors read by pair");

    auto const of_way_back = random_tensor<3>(by_distance.extents);
    //! [both_sides]
    // He et al. 2021, equation 4 (DeBERTa): a vector of the distance meets the query, and one of the distance back the
    // key.
    auto const there = kv_idx - q_idx + n - 1;
    auto const back = q_idx - kv_idx + n - 1;
    auto const both_sides = compare((sum(q_t{} * k_t{}) + sum(q_t{} * param(by_distance)(head, there))
                                     + sum(k_t{} * param(of_way_back)(head, back)))
                                    * rsqrt(3 * dim))
                          | softmax | weighted_sum;
    attend(both_sides, q, k, v, result);
    //! [both_sides]
    auto const disentangled = [&](index_t b, index_t h, index_t i, index_t j) {
        double sum = product(q, k, b, h, i, j);
        for (index_t c = 0; c < d; ++c)
            sum += static_cast<double>(q(b, h, i, c)) * static_cast<double>(of_distance(b, h, j - i + n - 1, c))
                 + static_cast<double>(k(b, h, j, c)) * static_cast<double>(of_way_back(h, i - j + n - 1, c));
        return sum / std::sqrt(3. * static_cast<double>(d));
    };
    require(difference(result, plain_attention(disentangled, heads_of_layer, n, v)) < 1e-5f, "vectors of both sides");

    //! [keys]
    // The product of each query with each distance, and a bias of what belongs to a pair.
    tensor<float, 3> products({heads_of_layer, n, distances});
    tensor<float, 4> unused({1, heads_of_layer, n, d});
    attend(compare(sum((q_t{} + param(w)[head]) * k_t{})) | softmax | weighted_sum, q, of_distance, of_distance, unused,
           scores(products));
    auto const relative = compare(sum((q_t{} + param(u)[head]) * k_t{})) | bias(by_key(products))
                        | rescore(score * rsqrt(dim)) | softmax | weighted_sum;
    attend(relative, q, k, v, result);
    //! [keys]
    require(difference(result, plain_attention(score_of, heads_of_layer, n, v)) < 1e-5f, "vectors added to keys");

    //! [gradient]
    // Back from the bias to the queries and the vectors of distances: two products with what has arrived at `products`.
    auto const d_result = random_tensor<4>({1, heads_of_layer, n, d});
    tensor<float, 3> d_products(products.extents);  // zeros, where there is no pair
    tensor<float, 4> dq(q.extents), d_further(q.extents), d_distance(of_distance.extents);
    gradient(relative, q, k, v, d_result, grad(q, dq), grad(by_key(products), by_key(d_products)));
    auto const sum_of = [](auto const& weight) { return compare(weight) | unnormalized | weighted_sum; };
    attend(sum_of(param(d_products)(head, q_idx, kv_idx)), q, of_distance, of_distance, d_further);
    auto with_w = q;
    for (index_t h = 0; h < heads_of_layer; ++h)
        for (index_t i = 0; i < n * d; ++i) with_w(0, h, i / d, i % d) += w(h, i % d);
    attend(sum_of(param(d_products)(head, kv_idx, q_idx)), of_distance, q, with_w, d_distance);  // of w: sums of dq
    for (std::size_t i = 0; i < dq.elements.size(); ++i) dq.elements[i] += d_further.elements[i];
    //! [gradient]
    //! [direct_gradient]
    tensor<float, 4> dq_of_direct(q.extents);
    tensor<float, 3> d_row(by_distance.extents);
    tensor<float, 2> dw(w.extents);
    gradient(direct, q, k, v, d_result, grad(q, dq_of_direct), grad(by_distance, d_row), grad(w, dw));
    //! [direct_gradient]
    require(difference(dq_of_direct, dq) < 1e-5f, "dq of one call and of two");
    for (std::size_t i = 0; i < d_row.elements.size(); ++i)
        require(std::abs(d_row.elements[i] - d_distance.elements[i]) < 1e-5f, "gradients of vectors of distances");
    auto const loss = [&](auto const& queries) {
        auto const moved = plain_attention(
            [&](index_t b, index_t h, index_t i, index_t j) {
                double sum = 0;
                for (index_t c = 0; c < d; ++c)
                    sum += static_cast<double>(queries(b, h, i, c) + u(h, c)) * static_cast<double>(k(b, h, j, c))
                         + static_cast<double>(queries(b, h, i, c) + w(h, c))
                               * static_cast<double>(of_distance(b, h, j - i + n - 1, c));
                return sum / std::sqrt(static_cast<double>(d));
            },
            heads_of_layer, n, v);
        double sum = 0;
        for (std::size_t i = 0; i < moved.elements.size(); ++i)
            sum += static_cast<double>(moved.elements[i]) * static_cast<double>(d_result.elements[i]);
        return sum;
    };
    for (std::size_t i = 0; i < q.elements.size(); i += 5) {
        auto above = q, below = q;
        above.elements[i] += 0.01f;
        below.elements[i] -= 0.01f;
        require(std::abs((loss(above) - loss(below)) / 0.02 - static_cast<double>(dq.elements[i])) < 1e-3, "dq");
    }

    //! [values]
    // Shaw et al. 2018: a vector by distance is added to each value. The weights lie by distance, and multiply these.
    tensor<float, 3> weight({heads_of_layer, n, distances});  // zeros, where there is no pair
    tensor<float, 4> of_vectors(q.extents);
    attend(scaled_dot | softmax | weighted_sum, q, k, v, result, weights(by_key(weight)));
    attend(sum_of(param(weight)(head, q_idx, kv_idx)), q, of_distance, of_distance, of_vectors);
    for (std::size_t i = 0; i < result.elements.size(); ++i) result.elements[i] += of_vectors.elements[i];
    //! [values]
    tensor<float, 4> expected(q.extents);
    for (index_t h = 0; h < heads_of_layer; ++h)
        for (index_t i = 0; i < n; ++i) {
            double total = 0;
            std::vector<double> weight_of(n);
            for (index_t j = 0; j < n; ++j) total += weight_of[static_cast<std::size_t>(j)] = std::exp(product(q, k, 0, h, i, j) / 2);
            for (index_t c = 0; c < d; ++c) {
                double sum = 0;
                for (index_t j = 0; j < n; ++j)
                    sum += weight_of[static_cast<std::size_t>(j)] / total
                         * static_cast<double>(v(0, h, j, c) + of_distance(0, h, j - i + n - 1, c));
                expected(0, h, i, c) = static_cast<float>(sum);
            }
        }
    require(difference(result, expected) < 1e-5f, "vectors added to values");
}
