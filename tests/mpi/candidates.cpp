// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: night
// Few queries over many keys, most of which have no weight: lists of the others are joined.
#include <fovea/parts/candidate_rows.hpp>

#include "mpi/sequence.hpp"

#include <vector>

using namespace sequences;
using namespace fovea::placeholders;
using Catch::Matchers::ContainsSubstring;

namespace {

template <class Spec>
void check_lists(sequence<float> const& whole, Spec const& spec) {
    index_t const all_queries = whole.q.extent(2), all_keys = whole.k.extent(2);
    auto const queries = held_here(mpi::contiguous, all_queries), keys = held_here(mpi::contiguous, all_keys);
    auto const own_q = rows_of(whole.q, queries), own_k = rows_of(whole.k, keys), own_v = rows_of(whole.v, keys);
    tensor<float, 4> own_out({2, 4, own_q.extent(2), 11});
    CHECK_THAT(explain(mpi::ranks(MPI_COMM_WORLD).pieces(100), spec, own_q, own_k, own_v, own_out),
               ContainsSubstring("queries travel, and lists of keys that may have a weight"));
    check_defined(whole, mpi::contiguous, 100, spec);
    check_defined(whole, mpi::striped(50), 100, spec);
    check_bits(whole, mpi::striped(100), 100, spec);
    check_bits(whole, mpi::striped(200), 100, spec);  // on one rank there are more pieces than threads
}

}  // namespace

TEST_CASE("few queries over many keys: lists of those that may have a weight", "[mpi]") {
    std::vector<float> const sinks{0.1f, -1, 0, 2};
    auto const slopes = alibi_slopes(4);
    check_lists(sequence<float>(3, 333),
                scaled_dot | alibi(slopes) | causal_at_end | keep(top_k(3)) | softmax | weighted_sum);
    check_lists(sequence<float>(3, 333), scaled_dot | keep(top_k(2)) | softmax_with_sink(sinks) | weighted_sum);
    sequence<float> const one(1, 333);
    check_lists(one, scaled_dot | sparsemax | weighted_sum);
    check_lists(one, scaled_dot | entmax15 | weighted_sum);
    check_lists(one, scaled_dot | keep(min_p(0.1)) | softmax | weighted_sum);
    check_lists(one, scaled_dot | keep(threshold(0.5)) | sparsemax | weighted_sum);
    check_lists(one, scaled_dot | where(kv_idx < 0) | sparsemax | weighted_sum);
}

TEST_CASE("of equal scores the keys with the lowest positions are listed", "[mpi]") {
    sequence<float> whole(2, 333);
    for (auto& x : whole.k.elements) x = x > 1 ? 1.0f : 0.0f;
    for (auto& x : whole.q.elements) x = 1;  // scores are small integers
    check_lists(whole, dot | keep(top_k(5)) | softmax | weighted_sum);
    check_bits(whole, mpi::striped(100), 100, dot | keep(top_k(5)) | softmax | weighted_sum);
}

TEST_CASE("a log-sum-exp beside lists", "[mpi]") {
    sequence<float> const whole(3, 333);
    auto const spec = scaled_dot | causal_at_end | keep(top_k(3)) | softmax | weighted_sum;
    tensor<float, 4> own_out(whole.result());
    tensor<float, 3> sums(whole.rows());
    attend(spec, whole.q, whole.k, whole.v, own_out, lse(sums));
    auto const expected = rows_of(sums, held_here(mpi::contiguous, 3));
    tensor<float, 3> got(expected.extents, 7);
    static_cast<void>(whole.over(mpi::contiguous, 100, spec, lse(got)));
    for (std::size_t i = 0; i < got.elements.size(); ++i)
        CHECK(got.elements[i] == Approx(expected.elements[i]).margin(1e-5));
}
