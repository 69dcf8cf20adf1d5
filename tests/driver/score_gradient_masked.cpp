// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients of scores in passes: what is masked reaches no gradient, and sums of tables have the same bits in any
// number of threads.
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>

#include "catch.hpp"

#include <fovea/testing/random.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("what a mask excludes reaches no gradient of a score and its tables", "[driver]") {
    testing::dice dice(53);
    index_t const heads = 2, features = 5;
    for (index_t const queries : {5, 37}) {
        CAPTURE(queries);
        index_t const keys = queries + 20;
        auto const random = [&](index_t positions) {
            return testing::random_tensor<float>(dice, extents_t<4>{1, heads, positions, features});
        };
        auto query = random(queries), key_rows = random(keys), v = random(keys), d = random(queries);
        auto slopes = testing::random_tensor<float>(dice, extents_t<1>{heads});
        auto bias = testing::random_tensor<float>(dice, extents_t<2>{queries, keys});
        auto const check = [&](auto const& a) {
            tensor<float, 4> d_q(query.extents), d_k(key_rows.extents), d_v(v.extents);
            tensor<float, 1> d_slopes(slopes.extents);
            tensor<float, 2> d_bias(bias.extents);
            gradient(a, query, key_rows, v, d, grad(query, d_q), grad(key_rows, d_k), grad(v, d_v),
                     grad(slopes, d_slopes), grad(bias, d_bias));
            auto const is_finite = [](float x) { return std::isfinite(x); };
            CHECK(std::all_of(d_q.elements.begin(), d_q.elements.end(), is_finite));
            CHECK(std::all_of(d_k.elements.begin(), d_k.elements.end(), is_finite));
            CHECK(std::all_of(d_v.elements.begin(), d_v.elements.end(), is_finite));
            CHECK(std::all_of(d_slopes.elements.begin(), d_slopes.elements.end(), is_finite));
            CHECK(std::all_of(d_bias.elements.begin(), d_bias.elements.end(), is_finite));
            for (index_t key = queries; key < keys; ++key) CHECK((d_k(0, 1, key, 1) == 0 && d_bias(0, key) == 0));
            for (index_t key = 0; key < keys; ++key) CHECK(d_bias(0, key) == 0);
        };
        for (index_t key = queries - 1; key < keys; ++key) {  // beyond what any query sees
            key_rows(0, 1, key, 1) = std::numeric_limits<float>::quiet_NaN();
            v(0, 0, key, 0) = std::numeric_limits<float>::infinity();
            bias(0, key) = std::numeric_limits<float>::infinity();
        }
        query(0, 1, 0, 2) = std::numeric_limits<float>::quiet_NaN();  // query 0 sees nothing
        auto const seen = where(kv_idx < q_idx);
        check(scaled_dot | rescore(3 * tanh(score * param(bias)(q_idx, kv_idx)) + param(slopes)[head] * kv_idx) | seen
              | softmax | weighted_sum);
        check(compare(sum(exp(q) * k) * param(slopes)[head] + sum(square(q - k)) * sum(tanh(k)))
              | rescore(score + param(bias)(q_idx, kv_idx)) | seen | softmax | weighted_sum);
    }
}

TEST_CASE("sums of tables have the same bits in any number of threads", "[driver]") {
    testing::dice dice(59);
    auto const random = [&](index_t heads, index_t positions) {
        return testing::random_tensor<float>(dice, extents_t<4>{3, heads, positions, 6});
    };
    auto const q = random(14, 40), k = random(7, 50), v = random(7, 50), d = random(14, 40);
    auto const shared = testing::random_tensor<float>(dice, extents_t<2>{40, 50});
    auto const apart = testing::random_tensor<float>(dice, extents_t<3>{3, 14, 100});
    auto const a = scaled_dot
                 | rescore(score * param(shared)(q_idx, kv_idx) + param(apart)(batch, head, kv_idx - q_idx + 39))
                 | causal | softmax | weighted_sum;
    auto const run = [&](auto const& executor) {
        tensor<float, 2> d_shared(shared.extents);
        tensor<float, 3> d_apart(apart.extents);
        tensor<float, 4> d_q(q.extents);
        gradient(executor, a, q, k, v, d, grad(q, d_q), grad(shared, d_shared), grad(apart, d_apart));
        auto all = d_q.elements;
        all.insert(all.end(), d_shared.elements.begin(), d_shared.elements.end());
        all.insert(all.end(), d_apart.elements.begin(), d_apart.elements.end());
        return all;
    };
    auto const once = run(threads(1));
    for (int n : {2, 5}) CHECK(run(threads(n)) == once);
}
