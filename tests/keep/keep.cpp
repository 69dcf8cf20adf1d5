// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/half.hpp>
#include <fovea/keep/min_p.hpp>
#include <fovea/keep/threshold.hpp>
#include <fovea/keep/top_k.hpp>
#include <fovea/keep/top_p.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/mask/neighbors.hpp>
#include <fovea/normalize/averaged.hpp>
#include <fovea/normalize/hardmax.hpp>
#include <fovea/normalize/normalized.hpp>
#include <fovea/normalize/reweight.hpp>
#include <fovea/normalize/softmax_with_sink.hpp>
#include <fovea/normalize/sparsemax.hpp>
#include <fovea/normalize/uniform.hpp>
#include <fovea/normalize/unnormalized.hpp>
#include <fovea/normalize/weigh.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/result/best_key.hpp>
#include <fovea/result/column_sums.hpp>
#include <fovea/result/entropy.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/scaled_dot.hpp>
#include <fovea/testing/normalizer_laws.hpp>

#include "catch.hpp"
#include "keep/rows.hpp"
#include "support/fused.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

/// The fewest keys: those with the largest score, and the second of these after them.
struct top_two_scores_t : key_selection {
    static constexpr std::string_view name = "top_two_scores";
    template <class Row>
    static auto least(Row const& row) {
        return fovea::detail::greatest_below(row, row.max());
    }
};

std::vector<float> const sinks{1, -2, 0.5f, 3, 0, 1, 2, 0};

/// Many rows by the definition and by the loops.
template <class Normalize>
void check_normalized(Normalize const& n) {
    testing::check_normalizer_laws((keep(top_k(5)) | n).normalize);
    check_fused<float>(scaled_dot | causal | keep(top_k(5)) | n | weighted_sum);
}

/// The weights of one row are those of the keys that stay, alone, and 0 elsewhere.
template <class S, class N>
void check_weights_of_kept(S const& s, N const& n) {
    testing::dice random(5);
    for (index_t const size : {1, 7, 40, 700}) {
        std::vector<double> scores(static_cast<std::size_t>(size));
        for (double& x : scores) x = random.real(-2, 2);
        auto const expected = weights_of(n, testing::scores_kept(s, scores));
        auto const got = weights_of((keep(s) | n).normalize, scores);
        for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(expected[i]));
    }
}

}  // namespace

TEST_CASE("what is kept is normalized as if there were no other keys", "[keep]") {
    check_weights_of_kept(top_k(6), softmax);
    check_weights_of_kept(top_k(6), averaged(relu(score)));
    check_weights_of_kept(top_p(0.7), uniform);
    check_weights_of_kept(min_p(0.5), sparsemax);
    check_weights_of_kept(threshold(0.5), normalized(square(score)));
    check_weights_of_kept(top_k(3), hardmax);
}

TEST_CASE("any normalizer may follow", "[keep]") {
    check_normalized(unnormalized);
    check_normalized(averaged(relu(score)));
    check_normalized(sparsemax);
    check_normalized(hardmax);
}

TEST_CASE("one selection after another", "[keep]") {
    auto const both = keep(top_k(50)) | keep(min_p(0.2)) | softmax;
    CHECK(text(both) == "keep(top_k(50)) | keep(min_p(0.2)) | softmax");
    CHECK(text(dot | both | weighted_sum) == "dot | keep(top_k(50)) | keep(min_p(0.2)) | softmax | weighted_sum");
    testing::check_normalizer_laws(both.normalize);
    std::vector<double> const scores{3, 1, 2.5, 2, 3, -7};  // of four keys, 0.9 of the weight is that of three
    auto const got = weights_of((keep(top_k(4)) | keep(top_p(0.85)) | uniform).normalize, scores);
    CHECK(got[0] == Approx(1 / 3.0));
    CHECK(got[1] == 0);
    CHECK(got[2] == Approx(1 / 3.0));
    CHECK(got[3] == 0);
    check_fused<float>(scaled_dot | keep(top_k(9)) | keep(threshold(0.1 * head)) | keep(top_k(2)) | softmax
                       | weighted_sum);
}

TEST_CASE("normalizers that differ by row, and weights that are changed", "[keep]") {
    check_fused<float>(scaled_dot | causal | keep(top_k(5)) | softmax_with_sink(sinks) | reweight(weight * (1 + kv_idx))
                       | weighted_sum);
}

TEST_CASE("a selection of one's own", "[keep]") {
    testing::check_selection_laws(top_two_scores_t{});
    CHECK(text(keep(top_two_scores_t{}) | softmax) == "keep(top_two_scores) | softmax");
    CHECK(weights_of((keep(top_two_scores_t{}) | uniform).normalize, {1.0, 4.0, 4.0, 2.0, 3.0})
          == std::vector<double>{0, 1 / 3.0, 1 / 3.0, 0, 1 / 3.0});
}

TEST_CASE("outputs are those of the keys that stay", "[keep]") {
    testing::dice random(3);
    auto const q = testing::random_tensor<float, 4>(random, {1, 4, 6, 8});
    auto const k = testing::random_tensor<float, 4>(random, {1, 2, 400, 8}), v = k;
    auto const check = [&](auto const& spec) {
        tensor<float, 4> result[2]{tensor<float, 4>({1, 4, 6, 8}), tensor<float, 4>({1, 4, 6, 8})};
        tensor<float, 4> w[2]{tensor<float, 4>({1, 4, 6, 400}), tensor<float, 4>({1, 4, 6, 400})};
        tensor<float, 3> sums[2]{tensor<float, 3>({1, 4, 6}), tensor<float, 3>({1, 4, 6})};
        tensor<float, 3> spread[2]{tensor<float, 3>({1, 4, 6}), tensor<float, 3>({1, 4, 6})};
        tensor<float, 3> columns[2]{tensor<float, 3>({1, 4, 400}), tensor<float, 3>({1, 4, 400})};
        tensor<std::int32_t, 3> best[2]{tensor<std::int32_t, 3>({1, 4, 6}), tensor<std::int32_t, 3>({1, 4, 6})};
        auto const outputs = [&](std::size_t i, auto const& call) {
            call(result[i], weights(w[i]), lse(sums[i]), entropy(spread[i]), column_sums(columns[i]),
                 best_key(best[i]));
        };
        outputs(0, [&](auto&&... all) { reference::attend(spec, q, k, v, all...); });
        outputs(1, [&](auto&&... all) { attend(spec, q, k, v, all...); });
        testing::tolerance const allowed{1e-5, 1e-5};
        auto const close = [&](char const* what, auto const& expected, auto const& got) {
            CHECK_NOTHROW(testing::check_close<float, float>(what, expected.elements, got.elements, allowed));
        };
        close("result", result[0], result[1]);
        close("weights", w[0], w[1]);
        close("lse", sums[0], sums[1]);
        close("entropy", spread[0], spread[1]);
        close("column_sums", columns[0], columns[1]);
        CHECK(best[0].elements == best[1].elements);
    };
    check(dot | keep(top_k(7)) | softmax | weighted_sum);
    check(dot | keep(top_k(350)) | softmax | weighted_sum);
    check(dot | keep(threshold(0.3)) | softmax | weighted_sum);
}

TEST_CASE("the keys that a graph lists", "[keep]") {
    testing::dice random(9);
    std::vector<graph::edge> edges;
    for (std::int32_t i = 0; i < 40; ++i)
        for (index_t n = random.between(0, 30); n > 0; --n)
            edges.push_back({i, static_cast<std::int32_t>(random.between(0, 39))});
    graph const g(40, edges);
    auto const q = testing::random_tensor<float, 4>(random, {1, 4, 40, 8});
    auto const k = testing::random_tensor<float, 4>(random, {1, 2, 40, 8});
    auto const check = [&](auto const& selected) {
        auto const spec = dot | neighbors(g) | selected | weighted_sum;
        tensor<float, 4> expected({1, 4, 40, 8}), got({1, 4, 40, 8}), alone({1, 4, 40, 8}), w({1, 4, 40, 40}),
            w_expected({1, 4, 40, 40});
        reference::attend(spec, q, k, k, expected, weights(w_expected));
        attend(spec, q, k, k, got, weights(w));
        attend(spec, q, k, k, alone);
        testing::tolerance const allowed{1e-5, 1e-5};
        CHECK_NOTHROW(testing::check_close<float, float>("result", expected.elements, got.elements, allowed));
        CHECK_NOTHROW(testing::check_close<float, float>("alone", expected.elements, alone.elements, allowed));
        CHECK_NOTHROW(testing::check_close<float, float>("weights", w_expected.elements, w.elements, allowed));
    };
    check(keep(top_k(4)) | softmax);
    check(keep(threshold(0.1)) | softmax);
    check(keep(top_k(9)) | keep(top_k(3)) | hardmax);
}

TEST_CASE("elements of 16 bits, and few queries of many keys", "[keep]") {
    testing::dice random(4);
    auto const x = testing::random_tensor<bfloat16, 2>(random, {3000, 16});
    auto const one = testing::random_tensor<bfloat16, 2>(random, {1, 16});
    auto const check = [&](auto const& spec) {
        tensor<float, 2> expected({1, 16}), got({1, 16}), shared({1, 16});
        reference::attend(spec, one, x, x, expected);
        attend(spec, one, x, x, got);
        attend(threads(3), spec, one, x, x, shared);
        CHECK_NOTHROW(testing::check_close<float, float>("result", expected.elements, got.elements, {1e-4, 1e-4}));
        CHECK(got.elements == shared.elements);
    };
    check(dot | keep(threshold(0.5)) | softmax | weighted_sum);
    check(dot | keep(top_k(20)) | softmax | weighted_sum);
}

TEST_CASE("sigmoids of the best keys", "[keep]") {
    //! [example]
    tensor<float, 2> query({1, 1}, 1), key({4, 1}), value({4, 1}, 1), result({1, 1}), w({1, 4});
    key.elements = {0, -1, 0, -2};
    attend(dot | keep(top_k(2)) | weigh(sigmoid(score)) | weighted_sum, query, key, value, result, weights(w));
    // w is {0.5, 0, 0.5, 0}
    //! [example]
    CHECK(w.elements == std::vector<float>{0.5f, 0, 0.5f, 0});
}
