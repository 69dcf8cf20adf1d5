// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ragged batches over ranks: the packed positions of all sequences are dealt, wherever a sequence begins or ends.
#include "mpi/sequence.hpp"

#include <string>
#include <vector>

using namespace sequences;
using namespace fovea::placeholders;
using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<int> const offsets{0, 5, 5, 60, 61, 97, 130};        // one sequence is empty, one has one position
std::vector<int> const key_offsets{0, 30, 35, 60, 60, 90, 130};  // one has no keys

template <class Spec>
void check(sequence<float> const& whole, std::vector<int> const& of_queries, std::vector<int> const& of_keys,
           Spec const& spec) {
    tensor<float, 4> expected(whole.result(), 7), alone(expected);
    tensor<float, 3> sums(whole.rows(), 7), alone_sums(sums);
    attend(ragged(of_queries, of_keys), spec, whole.q, whole.k, whole.v, expected, lse(sums));
    attend(mpi::ranks(MPI_COMM_SELF).pieces(16), ragged(of_queries, of_keys), spec, whole.q, whole.k, whole.v, alone,
           lse(alone_sums));
    auto const check_over = [&](auto const& layout, index_t threads_of_rank, bool same_bits) {
        INFO("rank " << world_rank() << " of " << world_size() << ", " << layout.text());
        auto const queries = held_here(layout, whole.q.extent(2)), keys = held_here(layout, whole.k.extent(2));
        auto const own_q = rows_of(whole.q, queries), own_k = rows_of(whole.k, keys), own_v = rows_of(whole.v, keys);
        tensor<float, 4> own_out({own_q.extent(0), own_q.extent(1), own_q.extent(2), own_v.extent(3)}, 7);
        tensor<float, 3> own_sums({own_q.extent(0), own_q.extent(1), own_q.extent(2)}, 7);
        attend(threads(threads_of_rank), mpi::ranks(MPI_COMM_WORLD, layout).pieces(16), ragged(of_queries, of_keys),
               spec, own_q, own_k, own_v, own_out, lse(own_sums));
        auto const wanted = rows_of(expected, queries);
        auto const wanted_sums = rows_of(sums, queries);
        for (std::size_t i = 0; i < own_out.elements.size(); ++i)
            CHECK(own_out.elements[i] == Approx(wanted.elements[i]).margin(1e-5));
        for (std::size_t i = 0; i < own_sums.elements.size(); ++i)
            if (own_sums.elements[i] != wanted_sums.elements[i])  // -inf too
                CHECK(own_sums.elements[i] == Approx(wanted_sums.elements[i]).margin(1e-5));
        if (same_bits) CHECK(own_out.elements == rows_of(alone, queries).elements);
    };
    check_over(mpi::contiguous, 1, false);
    check_over(mpi::zigzag, 2, false);
    check_over(mpi::striped(11), 3, false);
    check_over(mpi::listed(world_rank() == world_size() - 1 ? all_of(whole.k.extent(2)) : std::vector<index_t>()), 1,
               true);
}

}  // namespace

TEST_CASE("sequences of different lengths over ranks", "[mpi]") {
    auto const slopes = alibi_slopes(4);
    sequence<float> const whole(130, 130, 1);
    check(whole, offsets, offsets, scaled_dot | alibi(slopes) | causal | softmax | weighted_sum);
    check(whole, offsets, key_offsets, scaled_dot | softmax | weighted_sum);
    check(whole, offsets, offsets, scaled_dot | causal | keep(top_k(4)) | softmax | weighted_sum);
}

TEST_CASE("a ragged layer whose tables have a row for each sequence", "[mpi]") {
    testing::dice random{3};
    auto const x = testing::random_tensor<float>(random, extents_t<3>{1, 130, 24});
    auto const matrix = [&](index_t rows, index_t columns) {
        return testing::random_tensor<float>(random, extents_t<2>{rows, columns}, 0.4);
    };
    auto const wq = matrix(24, 32), wk = matrix(24, 16), wv = matrix(24, 16), wo = matrix(32, 24);
    tensor<index_t, 1> seen({6});
    for (index_t i = 0; i < 6; ++i) seen(i) = 10 * i;
    std::vector<float> const per_sequence{0.5f, 1, 2, 0.1f, 1, 3};
    auto const turned = rotary.from(seen);
    auto const spec = project(linear(wq) | turned, linear(wk) | turned, linear(wv), heads<4, 2>) | scaled_dot
                    | rescore(score * param(per_sequence)[batch]) | causal | softmax | weighted_sum | concat_heads
                    | output(wo) | residual | map(out * (q_idx + 1) + batch);
    tensor<float, 3> expected({1, 130, 24});
    attend(ragged(offsets), spec, x, expected);
    auto const held = mpi::striped(8).held(130, world_rank(), world_size());
    auto const own_x = positions_of(x, held), wanted = positions_of(expected, held);
    tensor<float, 3> got(wanted.extents, 7);
    attend(mpi::ranks(MPI_COMM_WORLD, mpi::striped(8)).pieces(16), ragged(offsets), spec, own_x, got);
    for (std::size_t i = 0; i < got.elements.size(); ++i)
        CHECK(got.elements[i] == Approx(wanted.elements[i]).epsilon(1e-4).margin(1e-4));
}

TEST_CASE("a state for each sequence", "[mpi]") {
    sequence<float> const whole(130, 130, 1);
    testing::dice random{7};
    auto const past = testing::random_tensor<float>(random, extents_t<4>{6, 2, 16, 11});
    auto rates = testing::random_tensor<float>(random, extents_t<4>{1, 2, 130, 1}, 0.1);
    tensor<float, 4> expected(whole.result()), present(past.extents), own_present(past.extents, 7);
    auto const spec_of = [](tensor<float, 4> const& table) {
        return scaled_dot | causal | unnormalized | running_state | delta(table);
    };
    attend(ragged(offsets), spec_of(rates), whole.q, whole.k, whole.v, expected, past_state(past),
           present_state(present));
    auto const held = held_here(mpi::striped(11), 130);
    auto const own_q = rows_of(whole.q, held), own_k = rows_of(whole.k, held), own_v = rows_of(whole.v, held),
               own_rates = rows_of(rates, held);
    tensor<float, 4> own_out({1, 4, own_q.extent(2), 11}, 7);
    attend(mpi::ranks(MPI_COMM_WORLD, mpi::striped(11)), ragged(offsets), spec_of(own_rates), own_q, own_k, own_v,
           own_out, past_state(past), present_state(own_present));
    CHECK(own_out.elements == rows_of(expected, held).elements);
    CHECK(own_present.elements == present.elements);
}

TEST_CASE("what is wrong with offsets on one rank throws on all", "[mpi]") {
    sequence<float> const whole(40, 40, 1);
    bool const last = world_rank() == world_size() - 1;
    constexpr auto spec = scaled_dot | causal | softmax | weighted_sum;
    auto const held = held_here(mpi::zigzag, 40);
    auto const own_q = rows_of(whole.q, held), own_k = rows_of(whole.k, held), own_v = rows_of(whole.v, held);
    tensor<float, 4> own_out({own_q.extent(0), own_q.extent(1), own_q.extent(2), own_v.extent(3)}, 7);
    auto const before = own_out.elements;
    auto const throws = [&](std::vector<int> const& wrong, std::string const& sentence) {
        CHECK_THROWS_WITH(
            attend(mpi::ranks(MPI_COMM_WORLD, mpi::zigzag), ragged(wrong), spec, own_q, own_k, own_v, own_out),
            ContainsSubstring(sentence));
    };
    throws({0, 10, 39}, "rank 0: ragged: the query offsets end at 39, query has 40 positions");
    throws({0, 20, 10, 40}, "rank 0: ragged: the query offsets fall from 20 to 10");
    if (world_size() > 1)
        throws({0, last ? 11 : 10, 40},
               "of rank " + std::to_string(world_size() - 1) + " the offsets of ragged are not those of rank 0");
    CHECK(own_out.elements == before);
}
