// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: each_set
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/kernel/product/accumulate.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"
#include "support/architectures.hpp"
#include "support/guarded.hpp"

#include <limits>
#include <vector>

using namespace fovea;

TEMPLATE_LIST_TEST_CASE("only values of weights that are not 0 are read, and all of those", "[kernel]", lane_widths) {
    using vector = kernel::pack<float, TestType>;
    testing::dice random(5);
    for (index_t const keys : {index_t{1}, vector::lanes, 3 * vector::lanes + 1}) {
        index_t const width = 2 * vector::lanes, room = (keys + vector::lanes - 1) / vector::lanes * vector::lanes;
        guarded<float> weights(room, 0.f), values(keys * width, std::numeric_limits<float>::quiet_NaN()),
            sums(width, 1.f);
        std::vector<double> expected(static_cast<std::size_t>(width), 1.0);
        index_t packs = 0;
        for (index_t first = 0; first < keys; first += vector::lanes) {
            bool nonzero = false;
            for (index_t k = first; k < std::min(first + vector::lanes, keys); ++k) {
                if (!random.chance(0.15)) continue;
                nonzero = true;
                weights[k] = static_cast<float>(random.between(1, 9));
                for (index_t c = 0; c < width; ++c) {
                    values[k * width + c] = static_cast<float>(random.between(-9, 9));
                    expected[static_cast<std::size_t>(c)] += static_cast<double>(weights[k] * values[k * width + c]);
                }
            }
            packs += nonzero;
        }
        CHECK(kernel::nonzero_packs<float, TestType>(weights.data(), keys) == packs);
        kernel::accumulate_nonzero<float, TestType>(weighted_sum, weights.data(), keys,
                                                    kernel::even_rows<float>{values.data(), width}, sums.data(), width);
        for (index_t c = 0; c < width; ++c)
            CHECK(static_cast<double>(sums[c]) == expected[static_cast<std::size_t>(c)]);
    }
}
