// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients of few heads with many queries, whose rows are split among tasks: what the definition says, with the same
// bits in any number of threads.
#include "score_gradient_case.hpp"

#include <fovea/plan/gradient_plan.hpp>

using namespace fovea;
using namespace fovea::placeholders;
using score_gradient_case::check_tables_of_pairs;
using score_gradient_case::operands;
using score_gradient_case::sizes;
using score_gradient_case::table;
using score_gradient_case::worst;

namespace {

/// Rows of one key head, of two of different batch elements, and of two of one, in two tasks and three.
template <class T, class F>
void at_split_sizes(F const& check) {
    for (auto const& n : {sizes{1, 2, 1, 1030, 37}, sizes{2, 1, 1, 1100, 9}, sizes{1, 4, 2, 1600, 21}}) {
        CAPTURE(n.batch, n.heads, n.queries, n.keys);
        REQUIRE(plan::row_splits(n.batch * n.key_heads, n.queries) > 1);
        testing::dice dice(static_cast<unsigned>(n.queries));
        check(operands<T>(dice, n), dice, n, sizeof(T) == 4 ? 3e-5 : 1e-12);
    }
}

}  // namespace

TEST_CASE("rows are split where key heads are few and queries many", "[driver]") {
    for (index_t heads : {1, 2, 3, 5, 8, 100})
        for (index_t queries : {0, 1, 511, 1024, 5000, 100000}) {
            auto const splits = plan::row_splits(heads, queries);
            CHECK((splits >= 1 && (splits == 1 || queries / splits >= 512)));
            CHECK((heads < 8 || splits == 1));
        }
}

TEST_CASE("split rows give keys, terms of keys and factors what the definition says", "[driver]") {
    at_split_sizes<float>([](auto const& of, testing::dice& dice, sizes const& n, double tolerance) {
        CHECK(worst(scaled_dot | causal_at_end | softmax | weighted_sum, of) < tolerance);
        CHECK(worst(scaled_dot | where(q_idx % 700 > 3) | softmax | weighted_sum, of) < tolerance);
        auto const w = table(of, dice, n.features);
        CHECK(worst(compare(tanh(sum(q * k) + sum(q * param(w)) * sum(tanh(k) * param(w)))) | softmax | weighted_sum,
                    of, w)
              < tolerance);
        CHECK(worst(compare(sum(abs(q - k)) + sum(q * tanh(k))) | softmax | weighted_sum, of) < tolerance);
        CHECK(worst(compare(-sum((q - k) * (q - k))) | softmax | weighted_sum, of) < tolerance);
    });
    at_split_sizes<double>([](auto const& of, testing::dice&, sizes const&, double tolerance) {
        CHECK(worst(scaled_dot | softmax | weighted_sum, of) < tolerance);
    });
}

TEST_CASE("split rows give tables what the definition says", "[driver]") {
    at_split_sizes<double>([](auto const& of, testing::dice& dice, sizes const& n, double tolerance) {
        auto const slopes = table(of, dice, n.heads);
        CHECK(worst(scaled_dot | alibi(slopes) | softmax | weighted_sum, of, slopes) < tolerance);
        auto const of_keys = table(of, dice, n.heads, n.keys);
        CHECK(worst(scaled_dot | rescore(score + param(of_keys)(head, kv_idx)) | softmax | weighted_sum, of, of_keys)
              < tolerance);
        check_tables_of_pairs(of, dice, n, tolerance);
    });
}

TEST_CASE("split rows of every normalizer give what the definition says", "[driver]") {
    at_split_sizes<double>([](auto const& of, testing::dice& dice, sizes const& n, double tolerance) {
        auto const slopes = table(of, dice, n.heads);
        CHECK(worst(scaled_dot | alibi(slopes) | sparsemax | weighted_sum, of, slopes) < tolerance);
        CHECK(worst(scaled_dot | causal | weigh(sigmoid(score)) | weighted_sum, of) < tolerance);
    });
}

TEST_CASE("split rows have the same bits in any number of threads", "[driver]") {
    at_split_sizes<float>([](auto const& of, testing::dice& dice, sizes const& n, double) {
        auto const& [query, key, value, d_result] = of;
        auto const bias = table(of, dice, n.heads, n.keys);
        auto const gradients = [&](auto const& executor, auto const& spec) {
            workspace scratch;
            auto found = std::make_tuple(tensor<float, 4>(query.extents), tensor<float, 4>(key.extents),
                                         tensor<float, 4>(value.extents), tensor<float, 2>(bias.extents));
            auto& [d_q, d_k, d_v, d_bias] = found;
            for (int times = 0; times < 2; ++times)  // scratch memory that has been used
                gradient(executor, scratch, spec, query, key, value, d_result, grad(query, d_q), grad(key, d_k),
                         grad(value, d_v), grad(bias, d_bias));
            return found;
        };
        auto const check = [&](auto const& spec) {
            auto const one = gradients(serial, spec), three = gradients(threads(3), spec);
            [&]<std::size_t... N>(std::index_sequence<N...>) {
                CHECK(((std::get<N>(one).elements == std::get<N>(three).elements) && ...));
            }(std::make_index_sequence<4>());
        };
        check(scaled_dot | rescore(score + param(bias)(head, min(max(q_idx - 600 + kv_idx, 0), n.keys - 1))) | causal
              | softmax | weighted_sum);
        check(scaled_dot | rescore(score + param(bias)(head, kv_idx)) | sparsemax | weighted_sum);
    });
}
