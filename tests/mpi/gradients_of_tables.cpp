// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: night
// Gradients of tables over ranks: whole sums on each of them, whatever the indices of a table are.
#include "mpi/gradients.hpp"

using namespace sequences;
using namespace fovea::placeholders;

TEST_CASE("gradients of tables, which have an element for each position of the sequence", "[mpi]") {
    differentiated whole(sequence<float>(61, 130));
    auto const table = [&](index_t rows, index_t columns) {
        return testing::random_tensor<float>(whole.of.random, extents_t<2>{rows, columns});
    };
    auto const by_pair = table(61, 130), by_key = table(4, 130), by_feature = table(4, 16);
    whole.check(mpi::contiguous, mpi::striped(8), 16, scaled_dot | bias(by_pair) | softmax | weighted_sum, by_pair);
    auto const at_end =
        scaled_dot | rescore(score + param(by_key)[head][kv_idx]) | causal_at_end | softmax | weighted_sum;
    whole.check(mpi::striped(8), mpi::contiguous, 16, at_end, by_key);
    differentiated(sequence<float>(3, 130)).check(mpi::striped(1), mpi::contiguous, 16, at_end, by_key);
    whole.check(
        mpi::striped(4), mpi::striped(16), 16,
        compare(sum(param(by_feature)[head] * q * k) + sum(param(by_feature)[head] * k)) | softmax | weighted_sum,
        by_feature);
    whole.check(mpi::striped(4), mpi::striped(16), 16,
                scaled_dot | causal_at_end | softmax_with_sink(param(by_feature)[head][3]) | weighted_sum, by_feature);
#if FOVEA_TEST_LEVEL > 1
    auto const by_distance = table(4, 32);
    whole.check(mpi::zigzag, 16,
                scaled_dot | rescore(score * param(by_distance)[head][min(abs(q_idx - kv_idx), 31)])
                    | sliding_window(20, 4) | softmax | weighted_sum,
                by_distance);
    auto const by_query = table(4, 61);
    whole.check(mpi::striped(4), mpi::striped(16), 16,
                scaled_dot | sliding_window(70, 4) | softmax_with_sink(param(by_query)(head, q_idx)) | weighted_sum,
                by_query);
#endif
}
