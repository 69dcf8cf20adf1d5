// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/keep/top_p.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/normalize/weigh.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/scaled_dot.hpp>

#include "catch.hpp"
#include "keep/rows.hpp"

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("top_p keeps the laws of a selection", "[keep]") {
    testing::check_selection_laws(top_p(0.3));
    testing::check_selection_laws(top_p(0.95));
    testing::check_selection_laws(top_p(1));
}

TEST_CASE("the nucleus is the fewest keys that reach p, with all that are equal to the last", "[keep]") {
    for (double const p : {0.01, 0.37, 0.9, 0.9999, 1.0})
        check_kept_places(top_p(p), [p](auto const& scores) {
            auto const order = places_by_score(scores);
            if (order.empty()) return order;
            double const greatest = scores[order[0]];
            double all = 0, sum = 0;
            for (auto const i : order) all += std::exp(scores[i] - greatest);
            std::size_t count = 0;
            while (count < order.size()
                   && (count == 0 || (p < 1 && sum < p * all) || p >= 1
                       || scores[order[count]] == scores[order[count - 1]]))
                sum += std::exp(scores[order[count++]] - greatest);
            return first_of(order, count);
        });
}

TEST_CASE("top_p, fused", "[keep]") { check_kept_fused(top_p(0.6)); }

TEST_CASE("great scores, and scores that are no numbers, in top_p", "[keep]") {
    using many = std::vector<float>;
    CHECK(testing::scores_kept(top_p(0.5), many{3e38f, -3e38f, 3e38f}) == many{3e38f, excluded<float>, 3e38f});
    CHECK(testing::scores_kept(top_p(0.5), many{-1e30f, -1e30f}) == many{-1e30f, -1e30f});
    CHECK(testing::scores_kept(top_p(0.5), many{excluded<float>}) == many{excluded<float>});
    CHECK(std::isnan(testing::scores_kept(top_p(0.5), many{1, ieee::nan<float>})[1]));
}

TEST_CASE("a share that is none is refused", "[keep]") {
    CHECK_THROWS_WITH(top_p(0), "top_p: p is 0, it must be above 0 and at most 1");
    CHECK_THROWS_WITH(top_p(1.5f), "top_p: p is 1.5, it must be above 0 and at most 1");
    CHECK_THROWS_WITH(top_p(std::nan("")), "top_p: p is nan, it must be above 0 and at most 1");
    CHECK(top_p(0.9).text() == "top_p(0.9)");
}

TEST_CASE("the keys with half of the weight", "[keep]") {
    //! [example]
    tensor<float, 2> query({1, 1}, 1), key({4, 1}), value({4, 1}, 1), result({1, 1}), w({1, 4});
    key.elements = {0, 9, 1, 9};
    attend(dot | keep(top_p(0.5)) | softmax | weighted_sum, query, key, value, result, weights(w));
    // w is {0, 0.5, 0, 0.5}
    //! [example]
    CHECK(w.elements == std::vector<float>{0, 0.5f, 0, 0.5f});
}
