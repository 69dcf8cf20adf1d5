// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Graphs whose nodes hold the features of all heads side by side, as projections leave them: any number of heads, of
// features, and of neighbours, against the definition.
#include <fovea/fovea.hpp>

#include "catch.hpp"
#include "support/architectures.hpp"
#include "support/node_features.hpp"
#include "support/random_graph.hpp"

using namespace fovea;

namespace {

template <class T, class Arch>
void check_scores(index_t heads, index_t features, index_t value_features) {
    testing::dice random(7);
    auto const g = random_graph(nodes, nodes, 300);
    auto const a = testing::random_tensor<T>(random, std::array<index_t, 2>{heads, features});
    auto const b = testing::random_tensor<T>(random, std::array<index_t, 2>{heads, features});
    node_features<T> const n(heads, features, value_features);
    n.template check<Arch>(gat_score(a, b) | neighbors(g) | softmax | weighted_sum);
    n.template check<Arch>(gatv2_score(a) | neighbors(g) | softmax | weighted_sum);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("heads side by side", "[driver]", lane_widths) {
    for (index_t heads : {1, 2, 3, 4, 8, 16, 20, 32}) check_scores<float, TestType>(heads, 8, 8);
    for (index_t features : {1, 2, 4, 5, 16, 40}) check_scores<float, TestType>(8, features, features);
    check_scores<float, TestType>(4, 4, 24);
    check_scores<float, TestType>(2, 8, 3);
}

TEST_CASE("heads side by side in double", "[driver]") {
    check_scores<double, arch::best>(8, 4, 4);
    check_scores<double, arch::best>(4, 2, 8);
}

TEST_CASE("threads do not change a bit, heads side by side", "[driver]") {
    auto const g = random_graph(nodes, nodes, 300);
    testing::dice random(17);
    auto const a = testing::random_tensor<float>(random, std::array<index_t, 2>{8, 8});
    auto const b = testing::random_tensor<float>(random, std::array<index_t, 2>{8, 8});
    auto const spec = gat_score(a, b) | neighbors(g) | softmax | weighted_sum;
    node_features<float> const one(8, 8, 8), five(8, 8, 8);
    auto const q = one.query.view_of_heads(), k = one.key.view_of_heads(), v = one.value.view_of_heads();
    attend(spec, q, k, v, one.result.view_of_heads());
    attend(threads(5), spec, q, k, v, five.result.view_of_heads());
    for (index_t i = 0; i < one.result.stored.size(); ++i) CHECK(one.result.stored[i] == five.result.stored[i]);
}
