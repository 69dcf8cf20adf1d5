// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tables of 16-bit reals in scores, masks and weights: read once for a head or a row, along the keys, or one by one.
#include <fovea/fovea.hpp>

#include "catch.hpp"
#include "support/fused.hpp"

#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {
template <class Half>
std::vector<Half> table_of(double step) {
    std::vector<Half> elements(8);
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = Half(step * static_cast<double>(i) - 0.75);
    return elements;
}

template <class Half>
void check_tables() {
    auto const table = table_of<Half>(0.3);
    auto const of = param(table);
    check_fused_at_all_widths<float>(dot | rescore(score * of[head % 8] + of[q_idx % 8]) | where(of[kv_idx % 8] < 1.25f)
                                     | softmax | weighted_sum);
    check_fused_at_all_widths<double>(dot | rescore(score + of[abs(kv_idx - q_idx) % 8] - of[2]) | softmax
                                      | reweight(weight * of[kv_idx % 8]) | weighted_sum);
    std::vector<Half> along(300);
    for (std::size_t i = 0; i < along.size(); ++i) along[i] = Half(0.01 * static_cast<double>(i % 37));
    check_fused_at_all_widths<float>(dot | rescore(score + param(along)[kv_idx]) | sparsemax | weighted_sum);
}
}  // namespace

TEST_CASE("tables of bfloat16 are read as reals", "[driver]") { check_tables<bfloat16>(); }
TEST_CASE("tables of float16 are read as reals", "[driver]") { check_tables<float16>(); }

TEST_CASE("slopes in 16 bits are slopes", "[driver]") {
    std::vector<bfloat16> const slopes(8, bfloat16(0.25f));
    check_fused_at_all_widths<float>(dot | alibi(slopes) | softmax | weighted_sum);
}

TEST_CASE("terms of edges in 16 bits are read as reals", "[driver]") {
    std::vector<graph::edge> const edges{{0, 1}, {0, 2}, {1, 0}, {2, 2}, {2, 0}};
    graph const g(3, edges);
    std::vector<bfloat16> const length{bfloat16(0.5f), bfloat16(-0.25f), bfloat16(1.5f), bfloat16(2.f),
                                       bfloat16(0.75f)};
    check_fused<float>(dot | rescore(score + param(length)[edge]) | neighbors(g) | softmax | weighted_sum,
                       testing::call_sizes{2, 2, 2, 3, 3, 5, 4});
}
