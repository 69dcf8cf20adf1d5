// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: change
// Functions of squared distances over features enough for a product: as exact as the sum for each pair, wherever the
// ends are and however close.
#include <fovea/fovea.hpp>

#include "support/fused.hpp"

#include <cmath>
#include <limits>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

testing::call_sizes const sizes{
    .batches = 2, .heads = 4, .key_heads = 2, .queries = 37, .keys = 300, .features = 23, .value_features = 18};

/// Distances of all pairs, as scores.
template <class T>
tensor<T, 2> distances(tensor<T, 2> const& query, tensor<T, 2> const& key) {
    tensor<T, 2> all({query.extent(0), key.extent(0)}), result({query.extent(0), key.extent(1)});
    attend(compare(sqrt(squared_distance(q, k))) | softmax | weighted_sum, query, key, key, result, scores(all));
    return all;
}

template <class T>
double distance(tensor<T, 2> const& query, index_t i, tensor<T, 2> const& key, index_t j) {
    double sum = 0;
    for (index_t c = 0; c < query.extent(1); ++c) {
        double const difference = static_cast<double>(query(i, c)) - static_cast<double>(key(j, c));
        sum += difference * difference;
    }
    return std::sqrt(sum);
}

/// Every distance is right to a few of its own last digits.
template <class T>
void check_distances(tensor<T, 2> const& query, tensor<T, 2> const& key) {
    auto const all = distances(query, key);
    double const error = 64 * static_cast<double>(std::numeric_limits<T>::epsilon());
    bool right = true;
    for (index_t i = 0; i < query.extent(0); ++i)
        for (index_t j = 0; j < key.extent(0); ++j) {
            double const expected = distance(query, i, key, j);
            right = right && std::abs(static_cast<double>(all(i, j)) - expected) <= error * expected;
        }
    CHECK(right);
}

/// Random rows about a place, as far from it as `spread` says.
template <class T>
tensor<T, 2> rows_about(testing::dice& random, index_t count, index_t features, double place, double spread) {
    tensor<T, 2> rows({count, features});
    for (T& x : rows.elements) x = static_cast<T>(place + random.real(-spread, spread));
    return rows;
}

}  // namespace

TEST_CASE("distances are right wherever their ends are", "[driver]") {
    testing::dice random(3);
    for (index_t const features : {16, 64, 131})
        for (double const place : {0., 1., 30., 3000.}) {
            check_distances(rows_about<float>(random, 50, features, place, 1),
                            rows_about<float>(random, 310, features, place, 1));
            check_distances(rows_about<double>(random, 50, features, place, 1),
                            rows_about<double>(random, 310, features, place, 1));
        }
}

TEST_CASE("distances are right however close their ends are", "[driver]") {
    testing::dice random(3);
    auto const query = rows_about<float>(random, 60, 48, 5, 1);
    tensor<float, 2> key({300, 48});
    for (index_t j = 0; j < 300; ++j)
        for (index_t c = 0; c < 48; ++c) {
            double const spread = std::pow(10., -static_cast<double>(j % 7));  // 1 ... 1e-6, about one of the queries
            key(j, c) = query(j / 5, c) + static_cast<float>(random.real(-spread, spread));
        }
    check_distances(query, key);
    // Clusters, in the order of their rows: blocks of keys that are all close to their queries, or all far away.
    tensor<float, 2> clusters({600, 48});
    for (index_t j = 0; j < 600; ++j)
        for (index_t c = 0; c < 48; ++c)
            clusters(j, c) = static_cast<float>(20 * static_cast<double>(j / 150) + random.real(-0.1, 0.1));
    check_distances(clusters, clusters);
}

TEST_CASE("a distance to itself is 0", "[driver]") {
    testing::dice random(3);
    for (double const place : {0., 100.}) {
        auto const x = rows_about<float>(random, 90, 33, place, 1);
        auto const all = distances(x, x);
        for (index_t i = 0; i < 90; ++i) CHECK(all(i, i) == 0);
    }
}

TEST_CASE("moving all ends alike moves no distance", "[driver]") {
    testing::dice random(17);
    tensor<float, 2> near({100, 24}), far({100, 24});
    for (std::size_t i = 0; i < near.elements.size(); ++i) {
        near.elements[i] = static_cast<float>(std::round(random.real(-64, 64)) / 64);  // exact, also far away
        far.elements[i] = near.elements[i] + 3000;
    }
    CHECK(distances(far, far).elements == distances(near, near).elements);
}

TEST_CASE("features that are not finite, or huge, are those of their own distances alone", "[driver]") {
    testing::dice random(3);
    auto const plain = rows_about<float>(random, 40, 20, 0, 1), keys = rows_about<float>(random, 70, 20, 0, 1);
    for (float const odd : {INFINITY, NAN, 1e18f, 3e38f}) {
        auto query = plain, key = keys;
        query(0, 3) = odd;
        key(17, 5) = odd;
        auto const all = distances(query, key);
        for (index_t i = 0; i < 40; ++i)
            for (index_t j = 0; j < 70; ++j) {
                double const expected = distance(query, i, key, j);
                CAPTURE(i, j, odd);
                if (std::isnan(expected)) CHECK(std::isnan(all(i, j)));
                else if (expected > 1e19) CHECK(all(i, j) == INFINITY);  // its square is beyond float
                else CHECK(std::abs(all(i, j) - expected) <= 1e-5 * expected);
            }
    }
}

TEST_CASE("functions of distances, fused", "[driver]") {
    auto const d = squared_distance(q, k);
    check_fused_at_all_widths<float>(compare(-log(1 + d / 8)) | softmax | weighted_sum, sizes);
    check_fused_at_all_widths<float>(compare(4 / (1 + d)) | causal | softmax | weighted_sum, sizes);
    check_fused<float>(
        compare(tanh(sum(square(2 * k - q * 0.5f)) / 9)) | where((q_idx + kv_idx) % 3 > 0) | softmax | weighted_sum,
        sizes);
    check_fused<float>(
        compare(-sqrt(sum(square(q - k), features(3, 20))) - sqrt(sum(square(k + q), features(0, 17))) + sum(q * k) / 9)
            | softmax | weighted_sum,
        sizes);
    check_fused<float>(
        compare(sum(q * k) / (1 + d) - log(1 + sum(square(exp(q / 4) - k * k)))) | softmax | weighted_sum, sizes);
}

TEST_CASE("functions of weighted distances, fused", "[driver]") {
    testing::dice random(7);
    auto factors = testing::random_tensor<float>(random, std::array<index_t, 1>{23});
    auto const of_heads = testing::random_tensor<float>(random, std::array<index_t, 2>{4, 23});
    auto const w = param(factors);
    auto const any_sign = compare(tanh(sum(w * square(q - k)) / 9)) | softmax | weighted_sum;
    check_fused<float>(any_sign, sizes);  // sums of which some are below 0: as they are written
    check_fused<float>(compare(tanh(sum(square(q - k) * param(of_heads)[head]) / 9)) | softmax | weighted_sum, sizes);
    for (float& x : factors.elements) x = 0.2f + std::abs(x);
    factors.elements[5] = 0;
    check_fused<float>(any_sign, sizes);
    check_fused_at_all_widths<float>(compare(-log(1 + sum(0.5f * (w * square(k - q)) / 3))) | softmax | weighted_sum,
                                     sizes);
    factors.elements[5] = 1;
    check_fused<double>(compare(-sqrt(sum(square((q - 2 * k) / w)))) | softmax | weighted_sum, sizes);
    check_fused<float>(compare(-log(1 + sum(square(w * (q + k) * 0.25)))) | causal | sparsemax | weighted_sum, sizes);
}

TEST_CASE("weighted distances are right wherever their ends are", "[driver]") {
    testing::dice random(7);
    auto const x = rows_about<float>(random, 70, 32, 3000, 1);
    tensor<float, 1> const quarter({32}, 0.25f);
    tensor<float, 2> all({70, 70}), weighted({70, 70}), result({70, 32});
    attend(compare(sqrt(sum(square(q - k) / 4))) | softmax | weighted_sum, x, result, scores(all));
    attend(compare(sqrt(sum(param(quarter) * square(q - k)))) | softmax | weighted_sum, x, result, scores(weighted));
    bool right = all.elements == weighted.elements;
    for (index_t i = 0; i < 70; ++i)
        for (index_t j = 0; j < 70; ++j) {
            double const expected = distance(x, i, x, j) / 2;
            right = right && std::abs(static_cast<double>(all(i, j)) - expected) <= 1e-5 * expected;
        }
    CHECK(right);
}

TEST_CASE("a cutoff on a distance keeps the pairs within it", "[driver]") {
    testing::dice random(3);
    auto const x = rows_about<float>(random, 120, 32, 2000, 1);
    auto const d = squared_distance(q, k);
    tensor<float, 2> result({120, 32}), kept({120, 120});
    attend(compare(select(d < 20, -d, -INFINITY)) | softmax | weighted_sum, x, result, weights(kept));
    for (index_t i = 0; i < 120; ++i)
        for (index_t j = 0; j < 120; ++j) {
            double const squared = std::pow(distance(x, i, x, j), 2);
            if (squared > 20.001) CHECK(kept(i, j) == 0);
            if (squared < 19.999) CHECK(kept(i, j) > 0);
        }
}

TEST_CASE("products and quotients of sums are products", "[driver]") {
    auto const both = compare(sum(q * k) * sum(tanh(q) * k) / 9) | softmax | weighted_sum;
    auto const ratio = compare(sum(q * k) / (2 + square(sum(exp(q / 4) * k)))) | softmax | weighted_sum;
    check_fused<float>(both, sizes);
    check_fused<float>(ratio, sizes);
    tensor<float, 4> const x({1, 2, 40, 16});
    for (auto const& text : {explain(both, x, x, x), explain(ratio, x, x, x)})
        CHECK(text.find("2 matrix products (driver/call/products.hpp); the rest on the tile") != std::string::npos);
}

namespace {

/// Attention by distances, with operands of any type in any place, against the definition.
template <class Q, class K>
void check_operands(Q const& query, K const& key) {
    auto const spec = compare(-log(1 + squared_distance(q, k) / 8)) | softmax | weighted_sum;
    tensor<float, 4> got({1, 4, 40, 24}), expected(got.extents);
    attend(spec, query, key, key, got);
    reference::attend(spec, query, key, key, expected);
    testing::check_close<float, float>("result", expected.elements, got.elements, {2e-6, 1e-5});
}

template <class To>
tensor<To, 4> stored_as(tensor<float, 4> const& from) {
    tensor<To, 4> to(from.extents);
    for (std::size_t i = 0; i < from.elements.size(); ++i) to.elements[i] = static_cast<To>(from.elements[i]);
    return to;
}

}  // namespace
