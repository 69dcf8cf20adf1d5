// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: change
// Sums over features of queries, and of keys, with rows of tables that pairs choose: as products where the rows of a
// tile are few, pair by pair where they are not, and their gradients.
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>

#include "driver/score_gradient_case.hpp"
#include "support/fused.hpp"

#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

using namespace fovea;
using namespace fovea::placeholders;
using score_gradient_case::worst;

namespace {

constexpr index_t most_queries = 60, most_keys = 600, all_heads = 4;
// Many queries and keys of several blocks; heads that share keys; and few queries, whose keys are read in place.
testing::call_sizes const many{2, all_heads, all_heads, 37, most_keys, 23, 18},
    shared{1, all_heads, 2, most_queries, 150, 16, 8}, few{1, all_heads, all_heads, 3, 45, 23, 18};
score_gradient_case::sizes const of_gradient{2, all_heads, all_heads, 37, 70, 21, 9},
    whole_vectors{1, all_heads, 2, 30, 47, 32, 16};

/// Vectors for a distance of any of these queries and keys, of each head.
template <class T>
tensor<T, 3> of_distances(testing::dice& random, index_t features) {
    return testing::random_tensor<T>(random, extents_t<3>{all_heads, most_queries + most_keys - 1, features});
}

/// Transformer-XL, a bias of queries for keys and another one for distances, and DeBERTa, vectors of distances for
/// keys.
auto transformer_xl(tensor<float, 2> const& u, tensor<float, 2> const& w, tensor<float, 3> const& r,
                    tensor<float, 3> const& of_keys) {
    return compare((sum((q + param(u)[head]) * k)
                    + sum((q + param(w)[head]) * param(r)(head, q_idx - kv_idx + (most_keys - 1)))
                    + sum(k * param(of_keys)(head, max(kv_idx - q_idx, 1 - most_queries) + (most_queries - 1))))
                   * rsqrt(dim));
}

/// Rows that are clamped, of every other row of a table; of buckets; and of each pair.
struct many_terms {
    tensor<float, 2> wide, buckets;
    tensor<int, 2> bucket;
    tensor<float16, 3> pairs;
    tensor<float16, 2> halves;
    tensor<int, 1> flat;  // a row of these by query and key, of which the places of a few keys are no range
    view<float const, 2> clamped;

    many_terms(testing::dice& random, index_t features, index_t queries, index_t keys)
        : wide(testing::random_tensor<float>(random, extents_t<2>{18, features + 3})),
          buckets(testing::random_tensor<float>(random, extents_t<2>{5, features})),
          bucket({queries, keys}),
          pairs(testing::random_tensor<float16>(random, extents_t<3>{queries, keys, features})),
          halves(testing::random_tensor<float16>(random, extents_t<2>{70, features})),
          flat({16 * queries + 16}),
          clamped(wide.data(), {9, features}, {2 * (features + 3), 1}) {
        for (int& each : bucket.elements) each = static_cast<int>(random.between(0, 4));
        for (index_t i = 0; i < flat.extent(0); ++i) flat(i) = static_cast<int>(i * halves.extent(0) / flat.extent(0));
    }
    /// Rows that go with the keys, and against them, times queries and times keys.
    auto clamped_and_buckets() const {
        auto const with = param(clamped)[min(max(kv_idx - q_idx, -4), 4) + 4];
        auto const against = param(clamped)[min(max(q_idx - kv_idx, -4), 4) + 4];
        auto const of_bucket = param(buckets)[param(bucket)(q_idx, kv_idx)];
        return compare((sum(q * k) - sum(with * q) / 3 + sum(q * (k + of_bucket)) + sum(k * (q + against))
                        - sum(with * (k + real(kv_idx) / 64)) / 3 + sum(of_bucket * k / 2)
                        + sum(k * param(halves)[param(flat)[16 * q_idx + kv_idx % 16]]))
                       * rsqrt(dim));
    }
    auto of_pairs() const {
        return compare(
            (sum(q * param(pairs)(q_idx, kv_idx)) + sum(tanh(k + param(buckets)[select(kv_idx < q_idx, 1, 3)])))
            * rsqrt(dim));
    }
};

}  // namespace

TEST_CASE("vectors of distances are multiplied with queries and with keys, however many there are", "[driver]") {
    testing::dice random(1);
    for (auto const& n : {many, shared, few}) {
        auto const u = testing::random_tensor<float>(random, extents_t<2>{all_heads, n.features}),
                   w = testing::random_tensor<float>(random, extents_t<2>{all_heads, n.features});
        auto const r = of_distances<float>(random, n.features);
        auto const of_keys = of_distances<float>(random, n.features);
        check_fused<float, lane_widths>(transformer_xl(u, w, r, of_keys) | causal_at_end | softmax | weighted_sum, n);
    }
}

TEST_CASE("rows that are clamped, of buckets or of each pair are found", "[driver]") {
    testing::dice random(2);
    for (auto const& n : {many, few}) {
        many_terms const of(random, n.features, n.queries, n.keys);
        check_fused<float, lane_widths>(of.clamped_and_buckets() | softmax | weighted_sum, n);
        check_fused<float, lane_widths>(of.of_pairs() | causal | softmax | weighted_sum, n);
    }
}

TEST_CASE("gradients go back to vectors of distances and to what is added to queries", "[driver]") {
    testing::dice random(3);
    for (auto const& n : {of_gradient, whole_vectors}) {
        CAPTURE(n.features);
        auto const u = testing::random_tensor<float>(random, extents_t<2>{all_heads, n.features}),
                   w = testing::random_tensor<float>(random, extents_t<2>{all_heads, n.features});
        auto const r = of_distances<float>(random, n.features);
        score_gradient_case::operands<float> const of(random, n);
        auto const of_keys = of_distances<float>(random, n.features);
        CHECK(worst(transformer_xl(u, w, r, of_keys) | causal_at_end | softmax | weighted_sum, of, u, w, r, of_keys)
              < 3e-5);
    }
}

TEST_CASE("gradients go back to rows that are clamped, of buckets or of each pair", "[driver]") {
    testing::dice random(4);
    many_terms const t(random, of_gradient.features, of_gradient.queries, of_gradient.keys);
    score_gradient_case::operands<float> const of(random, of_gradient);
    CHECK(worst(t.clamped_and_buckets() | softmax | weighted_sum, of, t.buckets) < 3e-5);
    CHECK(worst(t.of_pairs() | causal | softmax | weighted_sum, of, t.buckets) < 3e-5);
}

TEST_CASE("gradients of vectors by head are summed alike in any number of threads", "[driver]") {
    // Few heads, whose queries are split among tasks: each batch element and split has sums of its own.
    constexpr index_t split_queries = 1030, split_keys = 20, features = 16;
    testing::dice random(6);
    score_gradient_case::sizes const n{2, 2, 2, split_queries, split_keys, features, 4};
    score_gradient_case::operands<float> const of(random, n);
    auto const u = testing::random_tensor<float>(random, extents_t<2>{2, features}),
               w = testing::random_tensor<float>(random, extents_t<2>{2, features});
    auto const r = testing::random_tensor<float>(random, extents_t<3>{2, split_queries + most_keys - 1, features});
    auto const of_keys = testing::random_tensor<float>(random, extents_t<3>{2, most_queries + split_keys, features});
    auto const spec = transformer_xl(u, w, r, of_keys) | causal_at_end | softmax | weighted_sum;
    CHECK(worst(spec, of, u, w, r, of_keys) < 3e-5);
    auto const gradients = [&](auto const& executor) {
        tensor<float, 3> d_r(r.extents), d_of_keys(of_keys.extents);
        workspace scratch;
        gradient(executor, scratch, spec, of.query, of.key, of.value, of.d_result, grad(r, d_r),
                 grad(of_keys, d_of_keys));
        return std::pair(d_r.elements, d_of_keys.elements);
    };
    CHECK(gradients(serial) == gradients(threads(3)));
}

TEST_CASE("a row of a table that is not finite is seen by its pairs alone", "[driver]") {
    constexpr index_t n = 40, d = 8;
    testing::dice random(5);
    auto r = testing::random_tensor<float>(random, extents_t<2>{2 * n - 1, d});
    r(2 * n - 2, 0) = std::numeric_limits<float>::quiet_NaN();  // of the last key and the first query, which is masked
    auto const x = testing::random_tensor<float>(random, extents_t<4>{1, 2, n, d}),
               d_result = testing::random_tensor<float>(random, extents_t<4>{1, 2, n, d});
    tensor<float, 4> result(x.extents), d_x(x.extents);
    tensor<float, 2> d_r(r.extents);
    auto const is_finite = [&](auto const& spec) {
        attend(spec, x, x, x, result);
        gradient(spec, x, x, x, d_result, grad(x, d_x), grad(r, d_r));
        bool finite = true;
        for (float const each : result.elements) finite = finite && std::isfinite(each);
        for (float const each : d_x.elements) finite = finite && std::isfinite(each);
        for (float const each : d_r.elements) finite = finite && std::isfinite(each);
        return finite;
    };
    auto const row = param(r)[kv_idx - q_idx + n - 1];
    CHECK(is_finite(compare(sum(q * k) + sum(q * row)) | causal | softmax | weighted_sum));
    CHECK(is_finite(compare(sum(q * k) + sum(k * row)) | causal | softmax | weighted_sum));
}
