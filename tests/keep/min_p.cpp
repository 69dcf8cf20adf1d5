// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/keep/min_p.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/normalize/weigh.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/scaled_dot.hpp>

#include "catch.hpp"
#include "keep/rows.hpp"

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("min_p keeps the laws of a selection", "[keep]") {
    testing::check_selection_laws(min_p(1));
    testing::check_selection_laws(min_p(0.02));
}

TEST_CASE("keys stay whose softmax weight is a share of the largest", "[keep]") {
    for (double const p : {0.013, 0.5, 1.0})
        check_kept_places(min_p(p), [p](auto const& scores) {
            auto const w = weights_of(softmax, scores);
            std::vector<std::size_t> places;
            for (std::size_t i = 0; i < w.size(); ++i)
                if (w[i] > 0 && w[i] >= p * *std::max_element(w.begin(), w.end())) places.push_back(i);
            return places;
        });
}

TEST_CASE("min_p, fused", "[keep]") { check_kept_fused(min_p(0.3)); }

TEST_CASE("great scores, and scores that are no numbers, in min_p", "[keep]") {
    using many = std::vector<float>;
    CHECK(testing::scores_kept(min_p(0.5), many{3e38f, -3e38f, 3e38f}) == many{3e38f, excluded<float>, 3e38f});
    CHECK(testing::scores_kept(min_p(0.5), many{excluded<float>}) == many{excluded<float>});
    CHECK(std::isnan(testing::scores_kept(min_p(0.5), many{1, ieee::nan<float>})[1]));
}

TEST_CASE("min_p of no share is refused", "[keep]") {
    CHECK_THROWS_WITH(min_p(0), "min_p: p is 0, it must be above 0 and at most 1");
    CHECK_THROWS_WITH(min_p(2), "min_p: p is 2, it must be above 0 and at most 1");
    CHECK_THROWS_WITH(min_p(std::nan("")), "min_p: p is nan, it must be above 0 and at most 1");
    CHECK(min_p(0.05).text() == "min_p(0.05)");
}

TEST_CASE("keys that are near the best", "[keep]") {
    //! [example]
    tensor<float, 2> query({1, 1}, 1), key({4, 1}), value({4, 1}, 1), result({1, 1}), w({1, 4});
    key.elements = {5, 2, 5, 1};  // exp(2 - 5) is 0.0498
    attend(dot | keep(min_p(0.1)) | softmax | weighted_sum, query, key, value, result, weights(w));
    // w is {0.5, 0, 0.5, 0}
    //! [example]
    CHECK(w.elements == std::vector<float>{0.5f, 0, 0.5f, 0});
}
