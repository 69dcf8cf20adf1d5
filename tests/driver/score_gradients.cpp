// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// gradient of every kind of score: features, tables, factors and terms get what the definition says, with queries and
// with keys in lanes.
#include "score_gradient_case.hpp"

using namespace fovea;
using namespace fovea::placeholders;
using score_gradient_case::at_sizes;
using score_gradient_case::check_tables_of_pairs;
using score_gradient_case::table;
using score_gradient_case::worst;

TEST_CASE("a score of one product gives gradients to tables, terms and factors", "[driver]") {
    at_sizes<float>([](auto const& of, testing::dice& dice, score_gradient_case::sizes const& n, double tolerance) {
        auto const slopes = table(of, dice, n.heads);
        CHECK(worst(scaled_dot | alibi(slopes) | causal | softmax | weighted_sum, of, slopes) < tolerance);
        CHECK(worst(scaled_dot | softcap(2.0) | softmax | weighted_sum, of) < tolerance);
        auto const caps = table(of, dice, n.heads);  // some below 0: not capped
        CHECK(worst(scaled_dot | softcap(param(caps)[head]) | causal | softmax | weighted_sum, of, caps) < tolerance);
        auto const bias = table(of, dice, n.heads, n.queries + n.keys);
        CHECK(worst(scaled_dot | rescore(score + param(bias)(head, q_idx - kv_idx + (n.keys - 1))) | softmax
                        | weighted_sum,
                    of, bias)
              < tolerance);
        CHECK(worst(scaled_dot | rescore(score + param(bias)(head, kv_idx - q_idx + (n.queries - 1))) | softmax
                        | weighted_sum,
                    of, bias)
              < tolerance);
        check_tables_of_pairs(of, dice, n, tolerance);
        auto const few = table(of, dice, index_t{3});
        CHECK(worst(scaled_dot | rescore(score + param(few)[abs(q_idx - kv_idx) % 3]) | softmax | weighted_sum, of, few)
              < tolerance);
    });
}

TEST_CASE("terms of a row and of a key have gradients, and so has what a product is multiplied by", "[driver]") {
    at_sizes<float>([](auto const& of, testing::dice& dice, score_gradient_case::sizes const& n, double tolerance) {
        auto const w = table(of, dice, n.features), per_head = table(of, dice, n.heads);
        CHECK(worst(compare(param(per_head)[head] * sum(q * k)) | softmax | weighted_sum, of, per_head) < tolerance);
        CHECK(worst(compare(sum(q * k) * exp(sum(q * param(w)))) | softmax | weighted_sum, of, w) < tolerance);
        CHECK(worst(compare(sum(q * k) + sum(param(w) * k)) | softmax | weighted_sum, of, w) < tolerance);
        CHECK(worst(compare(tanh(sum(q * k) + sum(q * param(w)) * sum(tanh(k) * param(w)))) | causal | softmax
                        | weighted_sum,
                    of, w)
              < tolerance);
        auto const of_keys = table(of, dice, n.keys);
        CHECK(worst(compare(0.5 * sum(q * k)) | rescore(score * param(of_keys)[kv_idx]) | softmax | weighted_sum, of,
                    of_keys)
              < tolerance);
        auto const of_both = table(of, dice, n.heads, n.keys);
        CHECK(worst(compare(0.5 * sum(q * k)) | rescore(score * param(of_both)(head, kv_idx)) | softmax | weighted_sum,
                    of, of_both)
              < tolerance);
        CHECK(worst(scaled_dot | rescore(select(score > 0, score, param(per_head)[head] * score)) | softmax
                        | weighted_sum,
                    of, per_head)
              < tolerance);
        CHECK(worst(compare(sum(q * k, features(1, 4)) * param(per_head)[head]) | softmax | weighted_sum, of, per_head)
              < tolerance);
    });
}

TEST_CASE("gradients of scores are as exact as the type of a call", "[driver]") {
    at_sizes<double>([](auto const& of, testing::dice& dice, score_gradient_case::sizes const& n, double tolerance) {
        auto const caps = table(of, dice, n.heads);
        auto const shared = table(of, dice, n.queries, n.keys);
        CHECK(worst(scaled_dot | softcap(param(caps)[head]) | rescore(score * param(shared)(q_idx, kv_idx)) | causal
                        | softmax | weighted_sum,
                    of, caps, shared)
              < tolerance);
        CHECK(worst(compare(sum(exp(q) * k) * param(caps)[head] + sum(square(q - k)) * sum(tanh(k))) | softmax
                        | weighted_sum,
                    of, caps)
              < tolerance);
    });
}

TEST_CASE("gradients are the same whether that of a table is asked for or not", "[driver]") {
    testing::dice dice(61);
    score_gradient_case::sizes const n{1, 2, 2, 40, 50};
    score_gradient_case::operands<float> const of(dice, n);
    auto const bias = table(of, dice, n.batch, n.heads, n.queries, n.keys);  // of the type and rank of operands
    auto const a = scaled_dot | rescore(score * param(bias)(batch, head, q_idx, kv_idx)) | softmax | weighted_sum;
    tensor<float, 4> alone(of.query.extents), beside(of.query.extents), d_bias(bias.extents);
    gradient(a, of.query, of.key, of.value, of.d_result, grad(of.query, alone));
    gradient(a, of.query, of.key, of.value, of.d_result, grad(of.query, beside), grad(bias, d_bias));
    CHECK(alone.elements == beside.elements);
}
