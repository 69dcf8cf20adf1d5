// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/score/concat.hpp>
#include <fovea/testing/score_laws.hpp>

#include "catch.hpp"

#include <cmath>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("concat is a network on query and key side by side", "[score]") {
    //! [example]
    std::vector<float> const v{0.5f, -1, 2, 0.25f};
    auto const with_tanh = concat(v);
    auto const with_relu = concat(v, [](auto const& hidden) { return relu(hidden); });
    //! [example]
    testing::check_score_laws(with_tanh, 4);
    testing::check_score_laws(with_relu, 4);
    auto const formula = [&](auto activation) {
        return [&v, activation](auto query, auto key, auto const&) {
            double s = 0;
            for (std::size_t c = 0; c < v.size(); ++c) s += static_cast<double>(v[c]) * activation(query[c] + key[c]);
            return s;
        };
    };
    testing::check_score_formula(with_tanh, formula([](double x) { return std::tanh(x); }), 4);
    testing::check_score_formula(with_relu, formula([](double x) { return x > 0 ? x : 0; }), 4);
}
