// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Only some of the keys of each query: which stay, what they weigh, and that both are what loops over the scores say.
#include "check.hpp"

using namespace fovea;
using namespace fovea::placeholders;
using namespace how_to;

int main() {
    index_t const heads = 4, positions = 60;
    auto const query = random_tensor<4>({1, heads, positions, 16}), key = random_tensor<4>({1, heads, positions, 16}),
               value = random_tensor<4>({1, heads, positions, 16});
    tensor<float, 4> result(query.extents), expected(query.extents), all({1, heads, positions, positions});
    tensor<float, 4> weight(all.extents);
    std::vector<float> const bias{0.5f, -1, 0, 2};
    attend(scaled_dot | unnormalized | weighted_sum, query, key, value, expected, scores(all));

    //! [selection]
    attend(scaled_dot | keep(top_k(8)) | softmax | weighted_sum, query, key, value, result);
    //! [selection]
    auto const is_kept = [&](index_t h, index_t i, index_t j) {  // fewer than 8 scores are larger
        index_t larger = 0;
        for (index_t m = 0; m < positions; ++m) larger += all(0, h, i, m) > all(0, h, i, j) ? 1 : 0;
        return larger < 8;
    };
    expected = plain_attention(
        [&](index_t, index_t h, index_t i, index_t j) {
            return is_kept(h, i, j) ? static_cast<double>(all(0, h, i, j)) : minus_infinity;
        },
        heads, positions, value.view());
    require(difference(result, expected) < 1e-5f, "softmax of the 8 best keys");

    //! [weights]
    auto const gated = scaled_dot | keep(top_k(8)) | weigh(sigmoid(score + param(bias)[head])) | weighted_sum;
    attend(gated, query, key, value, result, weights(weight));
    //! [weights]
    for (index_t h = 0; h < heads; ++h)
        for (index_t i = 0; i < positions; ++i)
            for (index_t j = 0; j < positions; ++j) {
                float const w = 1 / (1 + std::exp(-all(0, h, i, j) - bias[static_cast<std::size_t>(h)]));
                require(std::abs(weight(0, h, i, j) - (is_kept(h, i, j) ? w : 0)) < 1e-5f, "gates of the 8 best keys");
            }

    //! [one_after_another]
    attend(scaled_dot | causal | keep(top_k(8)) | keep(top_p(0.9)) | softmax | weighted_sum, query, key, value, result,
           weights(weight));
    //! [one_after_another]
    for (index_t h = 0; h < heads; ++h)
        for (index_t i = 0; i < positions; ++i) {
            float sum = 0;
            index_t kept = 0;
            for (index_t j = 0; j < positions; ++j) {
                sum += weight(0, h, i, j);
                kept += weight(0, h, i, j) > 0 ? 1 : 0;
            }
            require(kept >= 1 && kept <= std::min<index_t>(8, i + 1), "at most 8 of the keys that are seen");
            require(std::abs(sum - 1) < 1e-5f, "weights of those that stay sum to one");
        }
    std::puts("each query has the keys that are the best of its scores, and they weigh what the normalizer says");
}
