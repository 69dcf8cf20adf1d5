// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Projections, heads and finishes, against the definition.
#include <fovea/fovea.hpp>

#include "support/fused.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

struct matrices {
    testing::dice random{11};
    tensor<float, 2> wq = testing::random_tensor<float>(random, std::array<index_t, 2>{13, 20}, 0.5);
    tensor<float, 2> wk = testing::random_tensor<float>(random, std::array<index_t, 2>{13, 10}, 0.5);
    tensor<float, 2> wv = testing::random_tensor<float>(random, std::array<index_t, 2>{13, 6}, 0.5);
    tensor<float, 2> wo = testing::random_tensor<float>(random, std::array<index_t, 2>{12, 13}, 0.5);
    tensor<float, 1> bias = testing::random_tensor<float>(random, std::array<index_t, 1>{13}, 0.5);
};

testing::call_sizes const sizes{.batches = 2, .queries = 37, .keys = 41, .features = 5, .value_features = 3};

}  // namespace

TEST_CASE("shared heads with an output matrix and a residual, fused", "[driver]") {
    matrices const m;
    auto const spec = project(m.wq, m.wk, m.wv, heads<4, 2>) | scaled_dot | causal | softmax | weighted_sum
                    | output(m.wo, m.bias) | residual;
    check_fused_at_all_widths<float>(spec, sizes);
}

TEST_CASE("heads of sources as they are, side by side, fused", "[driver]") {
    check_fused<float>(project(as_is, as_is, as_is, heads<4, 2>) | scaled_dot | softmax | weighted_sum);
}

TEST_CASE("the mean of heads through a function, fused", "[driver]") {
    matrices const m;
    auto const spec =
        project(m.wk, m.wk, m.wk, heads<2>) | scaled_dot | softmax | weighted_sum | map(elu(out)) | mean_heads;
    check_fused<float>(spec, sizes);
}

TEST_CASE("heads side by side, then a function with a table, fused", "[driver]") {
    matrices const m;
    auto const bias = testing::call_sizes{
        .batches = 2, .heads = 2, .key_heads = 1, .queries = 9, .keys = 7, .features = 5, .value_features = 3};
    auto const table = view<float const, 1>(m.bias.data(), {6});
    check_fused<double>(scaled_dot | softmax | weighted_sum | concat_heads | map(relu(out + param(table))), bias);
}
