// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: night
// Gradients through every score and every change of scores, with those of the tables that they read.
#include <fovea/fovea.hpp>
#include <fovea/testing/gradient_laws.hpp>

#include "catch.hpp"

#include <vector>

using namespace fovea;
using namespace fovea::placeholders;
using testing::check_gradients;

namespace {

template <std::size_t Rank>
tensor<double, static_cast<int>(Rank)> table(index_t const (&extents)[Rank], double size = 1) {
    std::array<index_t, Rank> sizes;
    std::copy_n(extents, Rank, sizes.begin());
    testing::dice from(5);
    return testing::random_tensor<double, Rank>(from, sizes, size);
}
auto positive(index_t elements) {
    auto x = table({elements});
    for (auto& each : x) each = 0.5 + each * each;
    return x;
}

constexpr auto rest = softmax | weighted_sum;

}  // namespace

TEST_CASE("gradients go through scores of products", "[reference]") {
    check_gradients(dot | rest);
    check_gradients(scaled_dot | rest);
    auto factors = positive(2);
    check_gradients(scaled_by(param(factors)[head]) | rest, factors);
    check_gradients(cosine | rest);
    check_gradients(feature_map(elu(q) + 1) | rest);
    check_gradients(feature_map(q * rsqrt(dim), relu(k)) | proportional | weighted_sum);
    auto w = table({4, 4});
    check_gradients(general(w) | rest, w);
}

TEST_CASE("gradients go through scores of distances", "[reference]") {
    check_gradients(gaussian(0.8) | rest);
    check_gradients(l1_distance(1.5) | rest);
    auto widths = positive(2);
    check_gradients(gaussian(param(widths)[head]) | rest, widths);
    check_gradients(compare(exp(-squared_distance(q, k))) | rest);
}

TEST_CASE("gradients go through scores of networks, to their vectors", "[reference]") {
    auto v = table({4});
    auto of_head = table({2, 4}), of_source = table({2, 4});
    check_gradients(additive(v) | rest, v);
    check_gradients(concat(v, [](auto h) { return silu(h); }) | rest, v);
    check_gradients(key_only(v) | rest, v);
    check_gradients(gat_score(of_head, of_source) | rest, of_head, of_source);
    check_gradients(gatv2_score(of_head) | rest, of_head);
    auto place = table({7, 4});
    check_gradients(location(place) | rest, place);
    auto distances = table({5, 4});
    check_gradients(relative_keys(distances) | rest, distances);
}

TEST_CASE("gradients go through sums of some features, of tables, and products of sums", "[reference]") {
    check_gradients(compare(sum(q * k, features(1, 3)) * sum(square(k)) + sum(q, features(0, 2))) | rest);
    auto places = table({7, 3}), scale = table({2, 4});
    check_gradients(compare(-sum(square(param(places)[q_idx] - param(places)[kv_idx])) * sum(q * k)) | rest, places);
    check_gradients(compare(sum(param(scale)[head] * q * k)) | rest, scale);
    // A rotation of features that is written down: a table read inside of a sum by two indices.
    check_gradients(compare(sum(q * k * param(places)(kv_idx, 1)) / sqrt(1 + sum(q * q))) | rest, places);
}

TEST_CASE("gradients go through changes of scores, to their tables", "[reference]") {
    auto slopes = positive(2);
    check_gradients(scaled_dot | alibi(slopes) | causal | rest, slopes);
    auto pairs = table({2, 5, 7});
    check_gradients(scaled_dot | bias(pairs) | rest, pairs);
    auto distances = table({2, 5});
    check_gradients(scaled_dot | relative_bias(distances) | rest, distances);
    auto buckets = table({8, 2});
    auto const buckets_of = t5_buckets(4, 8, 7);
    check_gradients(scaled_dot | t5_bias(buckets, buckets_of) | rest, buckets);
    check_gradients(scaled_dot | softcap(1.5) | rest);
    auto caps = positive(2);
    check_gradients(scaled_dot | softcap(param(caps)[head]) | rest, caps);
    auto temperatures = positive(2);
    check_gradients(scaled_dot | temperature(param(temperatures)[head]) | rest, temperatures);
    check_gradients(dot | decay(param(temperatures)[head]) | causal | unnormalized | weighted_sum, temperatures);
    check_gradients(scaled_dot | gumbel(7) | rest);
    check_gradients(scaled_dot | rescore(select(score > 0, log(1 + score), 0.5 * score)) | softcap(2)
                        | rescore(score + param(slopes)[head] * kv_idx / kv_len) | rest,
                    slopes);
}

TEST_CASE("additive masks have gradients, pairs that they exclude give none", "[reference]") {
    auto added = table({5, 7});
    for (index_t i = 0; i < 5; ++i) added(i, 0) = -std::numeric_limits<double>::infinity();
    check_gradients(scaled_dot | rescore(score + param(added)(q_idx, kv_idx)) | rest, added);
}
