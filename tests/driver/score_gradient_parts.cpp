// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// gradient of scores of several products, of mapped features and of sums for each pair.
#include "score_gradient_case.hpp"

using namespace fovea;
using namespace fovea::placeholders;
using score_gradient_case::at_sizes;
using score_gradient_case::table;
using score_gradient_case::worst;

TEST_CASE("products of mapped features, and several of them, have gradients", "[driver]") {
    at_sizes<float>([](auto const& of, testing::dice& dice, score_gradient_case::sizes const& n, double tolerance) {
        auto const w = table(of, dice, n.features);
        CHECK(worst(compare(sum(param(w) * q * k)) | softmax | weighted_sum, of, w) < tolerance);
        CHECK(worst(compare(sum(q * (k * param(w)))) | causal | softmax | weighted_sum, of, w) < tolerance);
        CHECK(worst(compare(sum(elu(q) * exp(k))) | softmax | weighted_sum, of) < tolerance);
        CHECK(worst(compare(sum(q * k) + 0.3 * sum(tanh(q) * k)) | softcap(3.0) | causal | softmax | weighted_sum, of)
              < tolerance);
        auto const places = table(of, dice, n.keys, n.features);
        CHECK(worst(compare(sum(q * k) * sum(q * param(places)[kv_idx])) | softmax | weighted_sum, of, places)
              < tolerance);
        CHECK(
            worst(compare(sum(q * k, features(0, 2)) * exp(0.3 * sum(q * k, features(2, 5)))) | softmax | weighted_sum,
                  of)
            < tolerance);
        auto const per_head = table(of, dice, n.heads, n.keys);
        CHECK(worst(compare(sum(q * k) + 0.3 * sum(tanh(q) * k)) | rescore(score * param(per_head)(head, kv_idx))
                        | softmax | weighted_sum,
                    of, per_head)
              < tolerance);
    });
}

TEST_CASE("sums over features for each pair have gradients", "[driver]") {
    at_sizes<float>([](auto const& of, testing::dice& dice, score_gradient_case::sizes const& n, double tolerance) {
        auto const v = table(of, dice, n.features);
        CHECK(worst(additive(v) | softmax | weighted_sum, of, v) < tolerance);
        CHECK(worst(compare(sum(param(v) * relu(q + k))) | causal | softmax | weighted_sum, of, v) < tolerance);
        CHECK(worst(compare(-0.5 * sum(square(q - k))) | softmax | weighted_sum, of) < tolerance);
        CHECK(worst(compare(-sum(abs(q - k))) | causal | softmax | weighted_sum, of) < tolerance);
        auto const relative = table(of, dice, n.queries + n.keys, n.features);
        CHECK(worst(compare(sum(q * k) + sum(q * param(relative)[kv_idx - q_idx + (n.queries - 1)])) | softmax
                        | weighted_sum,
                    of, relative)
              < tolerance);
        auto const scale = table(of, dice, n.heads);
        CHECK(worst(compare(sum(q * k) * exp(-param(scale)[head] * sum(square(q - k)))) | softmax | weighted_sum, of,
                    scale)
              < tolerance);
    });
}

TEST_CASE("sums for each pair have gradients by factors, and pair by pair where these leave their range", "[driver]") {
    testing::dice dice(71);
    score_gradient_case::sizes const n{1, 2, 1, 45, 1090, 21, 7};
    score_gradient_case::operands<float> of(dice, n);
    auto const v = testing::random_tensor<float>(dice, extents_t<1>{n.features});
    auto const all = [&] {
        CHECK(worst(additive(v) | softmax | weighted_sum, of, v) < 1e-4);
        CHECK(worst(compare(sum(square(tanh(q + k)))) | causal | softmax | weighted_sum, of) < 1e-4);
        CHECK(worst(compare(sum(param(v) * tanh(k - q))) | sparsemax | weighted_sum, of, v) < 1e-4);
        CHECK(worst(compare(-sum(abs(q - k))) | softmax | weighted_sum, of) < 1e-4);
    };
    all();
    of.query(0, 1, 30, 3) = 25;  // exp(50) has a reciprocal, whose square is 0 in float
    of.key(0, 0, 700, 2) = -27;
    all();
}

TEST_CASE("gradients of sums for each pair have the same bits in any number of threads", "[driver]") {
    testing::dice dice(73);
    score_gradient_case::operands<float> const of(dice, {2, 4, 2, 37, 70, 6, 5});
    auto const v = testing::random_tensor<float>(dice, extents_t<1>{6});
    auto const run = [&](auto const& executor) {
        tensor<float, 1> d_v(v.extents);
        tensor<float, 4> d_q(of.query.extents), d_k(of.key.extents);
        gradient(executor, additive(v) | causal | softmax | weighted_sum, of.query, of.key, of.value, of.d_result,
                 grad(of.query, d_q), grad(of.key, d_k), grad(v, d_v));
        return std::make_tuple(d_v.elements, d_q.elements, d_k.elements);
    };
    auto const once = run(threads(1));
    for (int n : {2, 5}) CHECK(run(threads(n)) == once);
}
