// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/keep/keep.hpp>
#include <fovea/keep/threshold.hpp>
#include <fovea/keep/top_k.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/mask/neighbors.hpp>
#include <fovea/normalize/weigh.hpp>
#include <fovea/plan/explain.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/scaled_dot.hpp>
#include <fovea/testing/against_reference.hpp>
#include <fovea/testing/normalizer_laws.hpp>

#include "catch.hpp"
#include "normalize/rows.hpp"
#include "support/fused.hpp"

#include <cmath>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

std::vector<float> const biases{0.5f, -1, 2, 0, -0.25f, 1, -3, 0.75f};

/// The weights of rows by a normalizer whose function has numbers of the row in it are those of the function with
/// these numbers, row by row.
template <class Of>
void check_numbers_of_rows(Of const& of) {
    testing::dice random(7);
    auto const x = testing::random_tensor<double, 4>(random, {2, 3, 5, 4});
    tensor<double, 4> result({2, 3, 5, 4}), all({2, 3, 5, 5}), alone({2, 3, 5, 5});
    auto const by = param(biases);
    reference::attend(dot | of(by[head], q_idx, batch, q_len) | weighted_sum, x, x, x, result, weights(all));
    for (index_t b = 0; b < 2; ++b)
        for (index_t h = 0; h < 3; ++h)
            for (index_t i = 0; i < 5; ++i) {
                auto const n = of(as_expression(biases[static_cast<std::size_t>(h)]), as_expression(i),
                                  as_expression(b), as_expression(5));
                reference::attend(dot | n | weighted_sum, x, x, x, result, weights(alone));
                for (index_t j = 0; j < 5; ++j) CHECK(all(b, h, i, j) == alone(b, h, i, j));
            }
}

}  // namespace

TEST_CASE("weigh keeps the laws of a normalizer", "[normalize]") {
    testing::check_normalizer_laws(weigh(sigmoid(score - 1)));
    testing::check_normalizer_laws(weigh(square(relu(score))));
}

TEST_CASE("a function of one row keeps the laws of a normalizer", "[normalize]") {
    auto const of_row = [](auto const& n) { return n.for_row(row_coordinates_archetype<double>{}); };
    testing::check_normalizer_laws(of_row(weigh(sigmoid(score + param(biases)[head]))));
    testing::check_normalizer_laws(of_row((keep(top_k(3)) | weigh(sigmoid(score + param(biases)[head]))).normalize));
}

TEST_CASE("numbers of a row stand in the function as numbers do", "[normalize]") {
    check_numbers_of_rows([](auto const& real, auto const& i, auto const& b, auto const& n) {
        return weigh(sigmoid(score * real + 2 * real * real) + score * (b + 1) / n - i);
    });
    check_numbers_of_rows([](auto const& real, auto const& i, auto const&, auto const& n) {
        return keep(top_k(3)) | weigh(select(i % 2 == 0 && score > real, score - real, floor_div(n, i + 1) * score));
    });
    check_numbers_of_rows([](auto const& real, auto const& i, auto const& b, auto const&) {  // integers stay integers
        return weigh(score * (select(score > real, 7, 4) % (i + 2)) + b);
    });
    // more than a float, and a lane, can tell apart
    auto const far = index_t{1} << 40;
    check_numbers_of_rows([far](auto const&, auto const& i, auto const&, auto const&) {
        return weigh(score * select(i * far > 3 * far, 2, 1));
    });
}

TEST_CASE("the greatest integers of a row are reals without overflow", "[normalize]") {
    auto const greatest = std::numeric_limits<index_t>::max();
    auto const of_row =
        weigh(select(score > 0, 1, 2) * (q_idx * 0 + greatest)).for_row([](auto const&) { return 0x1p63f; });
    CHECK(of_row.weight(1.0f) == 0x1p63f);
}

TEST_CASE("weights are the function of their scores", "[normalize]") {
    std::vector<double> const scores{-3, -0.5, 0, 0.25, 2};
    for (std::size_t j = 0; j < scores.size(); ++j) {
        double const s = scores[j];
        CHECK(weights_of(weigh(sigmoid(score - 1)), scores)[j] == Approx(1 / (1 + std::exp(1 - s))));
        CHECK(weights_of(weigh(relu(score)), scores)[j] == std::max(s, 0.0));
        CHECK(weights_of(weigh(silu(score)), scores)[j] == Approx(s / (1 + std::exp(-s))));
        CHECK(weights_of(weigh(gelu(score)), scores)[j] == Approx(s * (1 + std::erf(s / std::sqrt(2.0))) / 2));
    }
}

TEST_CASE("functions of scores of any size are numbers where they have a limit", "[normalize]") {
    CHECK(weights_of(weigh(sigmoid(score)), {1e30, -1e30}) == std::vector<double>{1, 0});
    CHECK(weights_of(weigh(silu(score)), {1e30, -1e30}) == std::vector<double>{1e30, 0});
    CHECK(weights_of(weigh(gelu(score)), {1e30, -1e30}) == std::vector<double>{1e30, 0});
    CHECK(std::isnan(weights_of(weigh(relu(score)), {std::nan("")})[0]));
}

TEST_CASE("a function of scores, fused", "[normalize]") {
    check_fused_at_all_widths<float>(scaled_dot | causal | weigh(sigmoid(score - 2)) | weighted_sum);
}

TEST_CASE("a function with numbers of the row, fused", "[normalize]") {
    auto const gate = weigh(sigmoid(score + param(biases)[head]));
    CHECK(plan::explain_normalizer(gate) == "weigh(sigmoid(score + param[head])), elementwise: nothing is carried");
    check_fused_at_all_widths<float>(scaled_dot | causal | gate | weighted_sum);
    check_fused_at_all_widths<float>(scaled_dot | causal | keep(top_k(5)) | gate | weighted_sum);
    check_fused<float>(scaled_dot | keep(threshold(0.1 * head)) | weigh(relu(score - q_idx % 3)) | weighted_sum);
    check_fused<double>(scaled_dot | weigh(select(head < 2, score, gelu(score))) | weighted_sum);
    // few queries, whose keys are split among threads
    check_fused<float>(scaled_dot | gate | weighted_sum, testing::call_sizes{1, 8, 2, 1, 3000, 16, 16});
    check_fused<float>(scaled_dot | keep(top_k(32)) | gate | weighted_sum,
                       testing::call_sizes{1, 8, 2, 1, 3000, 16, 16});
}

TEST_CASE("a function with numbers of the row beside the edges of a graph", "[normalize]") {
    std::vector<graph::edge> const edges{{0, 1}, {1, 0}, {1, 1}, {2, 0}, {2, 1}, {2, 2}};
    graph const g(3, edges);
    auto const gate = weigh(sigmoid(score + param(biases)[head] - q_idx));
    testing::call_sizes const sizes{1, 8, 8, 3, 3, 4, 4};
    check_fused_at_all_widths<float>(scaled_dot | neighbors(g) | gate | weighted_sum, sizes);
    check_fused<float>(scaled_dot | neighbors(g) | keep(top_k(2)) | gate | weighted_sum, sizes);
}

TEST_CASE("in a ragged batch a function has the number of the sequence", "[normalize]") {
    std::vector<index_t> const offsets{0, 3, 3, 10};
    testing::dice random(2);
    auto const x = testing::random_tensor<double, 2>(random, {10, 4});
    tensor<double, 2> expected({10, 4}), got({10, 4}, 7), plain({10, 4}, 7);
    auto const make = [](auto const& before) { return dot | weigh(relu(score + before)) | weighted_sum; };
    auto const spec = make(param(biases)[batch]);
    reference::attend(ragged(offsets, offsets), spec, x, x, x, expected);
    attend(ragged(offsets, offsets), spec, x, x, x, got);
    attend(ragged(offsets, offsets), make(biases[2]), x, x, x, plain);
    for (index_t i = 0; i < 10; ++i)
        for (index_t c = 0; c < 4; ++c) {
            CHECK(got(i, c) == Approx(expected(i, c)).margin(1e-12));
            if (i >= 3) CHECK(got(i, c) == Approx(plain(i, c)).margin(1e-12));
        }
}

TEST_CASE("a table of a function that is too small is refused", "[normalize]") {
    tensor<float, 4> const x({1, 9, 2, 2}, 1);
    tensor<float, 4> result({1, 9, 2, 2}, 7);
    auto const gate = weigh(relu(score + param(biases)[head]));
    CHECK_THROWS_WITH(attend(dot | gate | weighted_sum, x, result),
                      "a table of extents (8) is read at 8 along axis 0, which has 8 elements: batch 0, head 8, q_idx "
                      "0, kv_idx 0");
    CHECK_THROWS_AS(attend(dot | keep(top_k(2)) | gate | weighted_sum, x, result), shape_error);
    CHECK(result(0, 0, 0, 0) == 7);
}

TEST_CASE("pairs that take no part have weight 0 whatever the function is", "[normalize]") {
    //! [example]
    tensor<float, 2> const x({2, 1}, 0);
    tensor<float, 2> result({2, 1}), halves({2, 2});
    attend(dot | causal | weigh(sigmoid(score)) | weighted_sum, x, result, weights(halves));
    // sigmoid(0) is 1/2; the first query does not see the second key
    //! [example]
    CHECK(halves.elements == std::vector<float>{0.5f, 0, 0.5f, 0.5f});
}
