// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/keep/threshold.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/normalize/hardmax.hpp>
#include <fovea/normalize/normalized.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/normalize/sparsemax.hpp>
#include <fovea/normalize/weigh.hpp>
#include <fovea/plan/explain.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/scaled_dot.hpp>
#include <fovea/testing/normalizer_laws.hpp>

#include "catch.hpp"
#include "keep/rows.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

std::vector<float> const limits{0.1f, -2, 0.5f, 3, -40, 0, -0.3f, 0.2f};

}  // namespace

TEST_CASE("threshold keeps the laws of a selection", "[keep]") {
    testing::check_selection_laws(threshold(0.5));
    testing::check_selection_laws(threshold(-3));
}

TEST_CASE("normalizers of scores above a threshold keep their laws, in pieces too", "[keep]") {
    testing::check_normalizer_laws((keep(threshold(0.5)) | softmax).normalize);
    testing::check_normalizer_laws((keep(threshold(0)) | normalized(square(score))).normalize);
    testing::check_normalizer_laws((keep(threshold(-1)) | hardmax).normalize);
    testing::check_normalizer_laws((keep(threshold(0)) | sparsemax).normalize);
}

TEST_CASE("scores stay that are not below the threshold", "[keep]") {
    for (double const t : {-100.0, 0.0, 1.0, 100.0})
        check_kept_places(threshold(t), [t](auto const& scores) {
            std::vector<std::size_t> places;
            for (std::size_t i = 0; i < scores.size(); ++i)
                if (scores[i] >= t) places.push_back(i);
            return places;
        });
}

TEST_CASE("a threshold costs no row", "[keep]") {
    auto const line = [](auto const& spec) { return plan::explain_normalizer(spec.normalize); };
    CHECK(line(keep(threshold(0.5)) | softmax) == "keep(threshold(0.5)) | softmax, streaming: folded tile by tile");
    CHECK(line(keep(threshold(limits)) | weigh(sigmoid(score)))
          == "keep(threshold(param[head])) | weigh(sigmoid(score)), elementwise: nothing is carried");
}

TEST_CASE("threshold, fused", "[keep]") {
    check_kept_fused(threshold(0.1));
    check_fused_at_all_widths<float>(scaled_dot | causal | keep(threshold(limits)) | softmax | weighted_sum);
    check_fused<float>(scaled_dot | keep(threshold(0.1 * head)) | weigh(sigmoid(score)) | weighted_sum);
    check_fused<float>(scaled_dot | keep(threshold(0.2)) | hardmax | weighted_sum);
}

TEST_CASE("a threshold for each sequence of a ragged batch", "[keep]") {
    std::vector<index_t> const offsets{0, 3, 3, 10};
    std::vector<double> const each{100, 0, 0.1};
    testing::dice random(2);
    auto const x = testing::random_tensor<double, 2>(random, {10, 4});
    tensor<double, 2> expected({10, 4}), got({10, 4}, 7);
    auto const spec = dot | keep(threshold(param(each)[batch])) | softmax | weighted_sum;
    reference::attend(ragged(offsets, offsets), spec, x, x, x, expected);
    attend(ragged(offsets, offsets), spec, x, x, x, got);
    for (index_t i = 0; i < 10; ++i)
        for (index_t c = 0; c < 4; ++c) {
            CHECK(got(i, c) == Approx(expected(i, c)).margin(1e-12));
            CHECK((i >= 3 || got(i, c) == 0));  // no score is 100
        }
}

TEST_CASE("a threshold that is no number is refused", "[keep]") {
    CHECK_THROWS_WITH(threshold(std::nan("")), "threshold: t is nan, it must be a number");
    std::vector<float> const few{1, 2};
    tensor<float, 4> const x({1, 3, 2, 2}, 1);
    tensor<float, 4> result({1, 3, 2, 2}, 7);
    CHECK_THROWS_AS(attend(dot | keep(threshold(few)) | softmax | weighted_sum, x, result), shape_error);
    CHECK(result(0, 0, 0, 0) == 7);
}

TEST_CASE("keys whose score is large enough", "[keep]") {
    //! [example]
    tensor<float, 2> query({1, 1}, 1), key({4, 1}), value({4, 1}, 1), result({1, 1}), w({1, 4});
    key.elements = {3, 1, 3, 2};
    attend(dot | keep(threshold(2)) | weigh(score) | weighted_sum, query, key, value, result, weights(w));
    // w is {3, 0, 3, 2}
    //! [example]
    CHECK(w.elements == std::vector<float>{3, 0, 3, 2});
}
