// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rescorings and normalizers on dense tiles, against the definition.
#include <fovea/fovea.hpp>

#include "support/fused.hpp"

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("soft capping, slopes and a window, fused", "[driver]") {
    testing::dice random(7);
    auto const slopes = testing::random_tensor<float>(random, std::array<index_t, 1>{8}, 0.2);
    auto const mine = scaled_dot | rescore(score + param(slopes)[head] * (kv_idx - q_idx))
                    | rescore(50 * tanh(score / 50)) | causal | where(q_idx - kv_idx < 20) | softmax | weighted_sum;
    check_fused_at_all_widths<float>(mine);
    check_fused<double>(mine);
}

TEST_CASE("heads whose cap is 0 or below are not capped, fused", "[driver]") {
    tensor<float, 1> caps({8}, 2);
    caps(0) = 0;
    caps(3) = -1;
    check_fused_at_all_widths<float>(scaled_dot | softcap(param(caps)[head]) | softmax | weighted_sum);
    check_fused<float>(compare(sum(abs(q - k))) | softcap(param(caps)[head]) | sparsemax | weighted_sum);
}

TEST_CASE("hard attention, fused", "[driver]") {
    check_fused_at_all_widths<float>(scaled_dot | causal | hardmax | weighted_sum);
    check_fused<double>(scaled_dot | hardmax | weighted_sum);
}

TEST_CASE("scores as weights, fused", "[driver]") {
    check_fused<float>(scaled_dot | causal | unnormalized | weighted_sum);
    check_fused<double>(dot | unnormalized | weighted_sum);
}

TEST_CASE("a division by an integer is a division of reals, fused", "[driver]") {
    check_fused<float>(scaled_dot | rescore(score / 3) | softmax | weighted_sum);
    check_fused<double>(compare(sum(q / 3 * k) / (2 * q_len)) | softmax | weighted_sum);
    check_fused<float>(compare(sum(q * (k / (kv_idx + 2)))) | softmax | weighted_sum);
}
