// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/key_lengths.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/testing/mask_laws.hpp>

#include "catch.hpp"

#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("key_lengths shows the keys before the end of a sequence", "[mask]") {
    std::vector<int> const lengths{7, 0, 40};
    testing::check_mask_laws(key_lengths(lengths), testing::lengths{9, 20, 2, 3});
    testing::check_mask_laws(key_lengths(4));
    CHECK(bound(key_lengths(lengths).predicate(), box{0, 0, {0, 8}, {7, 19}, 9, 20}).never());
    CHECK(bound(key_lengths(lengths).predicate(), box{0, 0, {0, 8}, {0, 6}, 9, 20}).always());
    CHECK(bound(key_lengths(lengths).predicate(), box{2, 0, {0, 8}, {0, 19}, 9, 20}).always());
}

TEST_CASE("a length below 0 is none, one beyond the keys is all of them", "[mask]") {
    std::vector<int> const lengths{-3, 40, 5};
    testing::check_mask_laws(key_lengths(lengths), testing::lengths{9, 20, 2, 3});
    auto const mask = key_lengths(lengths);
    auto const seen = [&](index_t b, index_t j) {
        return evaluate(mask.predicate(), reference::index_environment<double>{{}, b, 0, 0, j, 1, 20, 8});
    };
    tensor<float, 4> const x({3, 1, 20, 4}, 1);
    tensor<float, 4> result({3, 1, 20, 4});
    attend(dot | mask | softmax | weighted_sum, x, x, x, result);
    for (index_t j = 0; j < 20; ++j) {
        CHECK(!seen(0, j));
        CHECK(seen(1, j));
        CHECK(seen(2, j) == (j < 5));
        CHECK(result(0, 0, j, 0) == 0);
        CHECK(result(1, 0, j, 0) == Approx(1));
        CHECK(result(2, 0, j, 0) == Approx(1));
    }
}

TEST_CASE("padding is hidden", "[mask]") {
    //! [example]
    std::vector<int> const lengths{3, 5};  // of two sequences in one batch
    auto const mask = key_lengths(lengths);
    //! [example]
    for (index_t b = 0; b < 2; ++b)
        for (index_t j = 0; j < 8; ++j) {
            reference::index_environment<double> const at{{}, b, 0, 0, j, 1, 8, 8};
            CHECK(evaluate(mask.predicate(), at) == (j < lengths[static_cast<std::size_t>(b)]));
        }
}
