// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/keep/top_k.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/normalize/weigh.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/scaled_dot.hpp>

#include "catch.hpp"
#include "keep/rows.hpp"

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("top_k keeps the laws of a selection", "[keep]") {
    testing::check_selection_laws(top_k(1));
    testing::check_selection_laws(top_k(7));
}

TEST_CASE("the k largest scores stay, the lowest positions of equal ones", "[keep]") {
    for (index_t const k : {1, 6, 32, 900})
        check_kept_places(top_k(k), [k](auto const& scores) {
            return first_of(places_by_score(scores), static_cast<std::size_t>(k));
        });
}

TEST_CASE("top_k, fused, with fewer and with more keys than vectors have parts", "[keep]") {
    check_kept_fused(top_k(3));
    tensor<float, 2> const q({1, 1}, 1);
    tensor<float, 2> k({3000, 1}), v({3000, 1}, 1), got({1, 1}), w({1, 3000});
    for (int const count : {1, 5, 8, 20, 32, 33, 100, 256, 257, 700, 2999, 5000})
        for (bool const ties : {false, true}) {
            testing::dice random(static_cast<unsigned>(count));
            for (float& x : k) x = static_cast<float>(ties ? std::round(random.real(0, 40)) : random.real(-1, 1));
            attend(dot | keep(top_k(count)) | weigh(score - score + 1) | weighted_sum, q, k, v, got, weights(w));
            std::vector<double> const scores(k.elements.begin(), k.elements.end());
            auto const expected = first_of(places_by_score(scores), static_cast<std::size_t>(count));
            std::vector<std::size_t> places;
            for (std::size_t i = 0; i < w.elements.size(); ++i)
                if (w.elements[i] != 0) places.push_back(i);
            CAPTURE(count, ties);
            CHECK(places == expected);
            CHECK(got(0, 0) == static_cast<float>(std::min(count, 3000)));
        }
}

TEST_CASE("top_k of less than one key is refused", "[keep]") {
    CHECK_THROWS_WITH(top_k(0), "top_k: k is 0, it must be 1 or more");
    CHECK_THROWS_WITH(top_k(-3), "top_k: k is -3, it must be 1 or more");
    CHECK(top_k(7).text() == "top_k(7)");
}

TEST_CASE("the best keys are weighed one by one", "[keep]") {
    //! [example]
    tensor<float, 2> query({1, 1}, 1), key({4, 1}), value({4, 1}, 1), result({1, 1}), w({1, 4});
    key.elements = {3, 1, 3, 2};
    attend(dot | keep(top_k(3)) | weigh(2 * score) | weighted_sum, query, key, value, result, weights(w));
    // w is {6, 0, 6, 4}
    //! [example]
    CHECK(w.elements == std::vector<float>{6, 0, 6, 4});
}
