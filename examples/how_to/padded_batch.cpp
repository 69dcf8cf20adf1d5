// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sequences of different lengths in one padded batch, and rows that are fully masked.
#include "check.hpp"

using namespace fovea;
using namespace fovea::placeholders;
using namespace how_to;

int main() {
    constexpr index_t batch_size = 3, positions = 9;
    auto x = random_tensor<4>({batch_size, 2, positions, 16});
    tensor<float, 4> result(x.extents);
    tensor<float, 3> log_sums({batch_size, 2, positions});

    //! [padded]
    std::vector<index_t> const lengths{9, 4, 0};  // of the sequences in the batch; the last one is empty
    auto const padded = scaled_dot | causal | key_lengths(lengths) | softmax | weighted_sum;
    attend(padded, x, result, lse(log_sums));
    //! [padded]
    auto const score = [&](index_t b, index_t h, index_t i, index_t j) {
        bool const visible = j <= i && j < lengths[static_cast<std::size_t>(b)];
        return visible ? product(x, x, b, h, i, j) / 4 : minus_infinity;
    };
    require(difference(result, plain_attention(score, 2, positions, x)) < 1e-6f, "sequences see their own keys");

    //! [masked]
    for (index_t position = 0; position < positions; ++position) {
        require(result(2, 1, position, 5) == 0, "a row that is fully masked is zero");
        require(std::isinf(log_sums(2, 1, position)) && log_sums(2, 1, position) < 0, "and its log-sum is -inf");
    }
    //! [masked]

    //! [rows]
    auto const rows = padded | map(select(q_idx < param(lengths)[batch], out, 0));  // zero in the rows of padding too
    attend(rows, x, result);
    //! [rows]
    for (index_t position = 0; position < positions; ++position)
        require((result(1, 0, position, 0) != 0) == (position < 4), "rows of padding are zero");
}
