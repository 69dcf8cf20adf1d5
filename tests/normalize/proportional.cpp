// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/normalize/proportional.hpp>
#include <fovea/testing/normalizer_laws.hpp>

#include "catch.hpp"
#include "normalize/rows.hpp"
#include "support/fused.hpp"

#include <fovea/fovea.hpp>

#include <cmath>

using namespace fovea;
using namespace fovea::placeholders;

namespace {
std::vector<double> normalized(std::vector<double> scores) {
    std::vector<index_t> keys(scores.size());
    std::iota(keys.begin(), keys.end(), index_t{0});
    reference::normalize(proportional, reference::row<double>{scores, keys});
    return scores;
}

/// proportional on the magnitudes of the scores: without cancellation, as it is meant to be used.
struct of_magnitudes_t : stage<role::normalizer> {
    template <class T>
    using state = proportional_t::state<T>;

    template <class T, class Row>
    static T fold(state<T>& s, Row const& row) {
        row.map([](auto score) {
            using std::abs;
            return abs(score);
        });
        return proportional.fold(s, row);
    }
    template <class T>
    static std::pair<T, T> merge(state<T>& s, state<T> const& other) {
        return proportional.merge(s, other);
    }
    template <class T>
    static T finish(state<T> const& s) {
        return proportional.finish(s);
    }
};
}  // namespace

TEST_CASE("proportional keeps the laws of a normalizer, on scores above zero", "[normalize]") {
    testing::check_normalizer_laws(of_magnitudes_t{});
}

TEST_CASE("weights are the scores over their sum", "[normalize]") {
    auto const w = normalized({1, 2, 5});
    CHECK(w[0] == Approx(0.125));
    CHECK(w[1] == Approx(0.25));
    CHECK(w[2] == Approx(0.625));
}

TEST_CASE("rows without keys, and rows that add up to 0, get zeros", "[normalize]") {
    CHECK(normalized({0, 0}) == std::vector<double>{0, 0});
    CHECK(normalized({excluded<double>, 3, excluded<double>}) == std::vector<double>{0, 1, 0});
    CHECK(normalized({excluded<double>}) == std::vector<double>{0});
    CHECK(normalized({1, -1}) == std::vector<double>{0, 0});
}

TEST_CASE("proportional weights of positive scores", "[normalize]") {
    //! [example]
    tensor<float, 2> const x({3, 1}, 2);
    tensor<float, 2> result({3, 1}), shares({3, 3});
    attend(dot | causal | proportional | weighted_sum, x, result, weights(shares));
    // scores are 4 everywhere: the shares of the rows are {1, 0, 0}, {1/2, 1/2, 0} and {1/3, 1/3, 1/3}
    //! [example]

    CHECK(shares.elements[0] == 1);
    CHECK(shares.elements[4] == 0.5f);
    for (std::size_t j = 6; j < 9; ++j) CHECK(shares.elements[j] == Approx(1. / 3));
    for (float y : result) CHECK(y == Approx(2));
}

TEST_CASE("proportional, fused", "[normalize]") {
    auto const positive = feature_map(elu(q) + 1);
    check_fused_at_all_widths<float>(positive | causal | proportional | weighted_sum);
    check_fused<double>(positive | proportional | weighted_sum);
}

TEST_CASE("proportional of numbers whose sum, or its inverse, float does not hold", "[normalize]") {
    check_quotients_of_any_size(proportional);
}
