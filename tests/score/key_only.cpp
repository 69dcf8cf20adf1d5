// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/score/key_only.hpp>
#include <fovea/testing/score_laws.hpp>

#include "catch.hpp"

#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("key_only is the same for all queries", "[score]") {
    //! [example]
    std::vector<float> const v{1, -2, 0.5f};
    auto const importance = key_only(v);
    //! [example]
    testing::check_score_laws(importance, 3);
    testing::check_score_formula(
        importance,
        [&](auto, auto key, auto const&) {
            double s = 0;
            for (std::size_t c = 0; c < v.size(); ++c) s += static_cast<double>(v[c]) * key[c];
            return s;
        },
        3);
}
