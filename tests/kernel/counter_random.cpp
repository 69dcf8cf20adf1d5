// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: each_set
// The random numbers of pairs: in lanes the same as one at a time.
#include <fovea/kernel/lookup.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"
#include "support/architectures.hpp"

using namespace fovea;

namespace {

template <class T, class Arch>
void check_pairs() {
    using positions = kernel::positions<T, Arch>;
    testing::dice random(7);
    for (int trial = 0; trial < 50; ++trial) {
        index_t const seed = random.between(-5, 1 << 20), batch = random.between(0, 9), head = random.between(0, 70);
        index_t const query = random.between(0, 1 << 20), key = random.between(0, 1 << 20);
        auto const over_keys =
            kernel::lanes_of<T, Arch>::to_array(kernel::uniform_of_pair(seed, batch, head, query, positions{key}));
        auto const over_queries =
            kernel::lanes_of<T, Arch>::to_array(kernel::uniform_of_pair(seed, batch, head, positions{query} + 1, key));
        for (std::size_t i = 0; i < over_keys.size(); ++i) {
            auto const lane = static_cast<index_t>(i);
            REQUIRE(over_keys[i] == static_cast<T>(uniform_of_pair(seed, batch, head, query, key + lane)));
            REQUIRE(over_queries[i] == static_cast<T>(uniform_of_pair(seed, batch, head, query + 1 + lane, key)));
        }
    }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("random numbers of pairs are the same in lanes", "[kernel]", lane_widths) {
    check_pairs<float, TestType>();
    check_pairs<double, TestType>();
}
