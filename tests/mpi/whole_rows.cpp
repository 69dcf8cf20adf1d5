// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: night
// Normalizers and selections that read a row of scores whole.
#include "mpi/sequence.hpp"

#include <vector>

using namespace sequences;
using namespace fovea::placeholders;

namespace {

template <class Spec>
void check(sequence<float> const& whole, Spec const& spec) {
    check_defined(whole, mpi::contiguous, 24, spec);  // some ranks have no positions
    check_defined(whole, mpi::zigzag, 24, spec);
    check_bits(whole, mpi::striped(24), 24, spec);
    check_bits(whole, mpi::striped(48), 24, spec);
}

}  // namespace

TEST_CASE("selections by rank of score over ranks", "[mpi]") {
    sequence<float> const whole(110, 110);
    check(whole, scaled_dot | causal | keep(top_k(5)) | softmax | weighted_sum);
    check(whole, scaled_dot | causal | keep(top_p(0.7)) | softmax | weighted_sum);
    check(whole, scaled_dot | keep(min_p(0.1)) | softmax | weighted_sum);
}

TEST_CASE("sparse normalizers over ranks", "[mpi]") {
    sequence<float> const whole(110, 110);
    check(whole, scaled_dot | causal | sparsemax | weighted_sum);
    check(whole, scaled_dot | causal_at_end | entmax15 | weighted_sum);
}

TEST_CASE("rows that are read whole, without queries, and a window of keys", "[mpi]") {
    check(sequence<float>(5, 130), scaled_dot | causal_at_end | sparsemax | weighted_sum);
    check(sequence<float>(90, 90, 1, 3, 1), scaled_dot | sliding_window(30, 0) | keep(top_k(3)) | softmax | max_pool);
}

TEST_CASE("few queries over many keys, of which few have a weight", "[mpi]") {
    std::vector<float> const sinks{0.1f, -1, 0, 2};
    auto const slopes = alibi_slopes(4);
    check(sequence<float>(3, 333),
          scaled_dot | alibi(slopes) | causal_at_end | keep(top_k(3)) | softmax | weighted_sum);
    check(sequence<float>(3, 333), scaled_dot | keep(top_k(2)) | softmax_with_sink(sinks) | weighted_sum);
    check(sequence<float>(1, 333), scaled_dot | keep(threshold(0.5)) | sparsemax | weighted_sum);
    check(sequence<float>(1, 333), scaled_dot | where(kv_idx < 0) | sparsemax | weighted_sum);
}

TEST_CASE("of equal scores the keys with the lowest positions are kept over ranks", "[mpi]") {
    sequence<float> whole(2, 333);
    for (auto& x : whole.k.elements) x = x > 1 ? 1.0f : 0.0f;
    for (auto& x : whole.q.elements) x = 1;  // scores are small integers
    check(whole, dot | keep(top_k(5)) | softmax | weighted_sum);
}
