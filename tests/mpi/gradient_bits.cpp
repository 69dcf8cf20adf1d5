// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: night
// Gradients have the same bits on any number of ranks and threads, whoever holds which pieces, where the pieces are the
// same.
#include "mpi/gradients.hpp"

using namespace sequences;
using namespace fovea::placeholders;

namespace {

constexpr index_t piece = 24;

/// Whole pieces, dealt in an order that is no layout's.
mpi::listed_t shuffled(index_t positions) {
    mpi::listed_t all;
    index_t const pieces = ceil_div(positions, piece);
    for (index_t n = 0; n < pieces; ++n) {
        index_t const at = pieces - 1 - n;
        if (n * n % world_size() == world_rank())
            mpi::detail::add_run(all.own, at * piece, std::min(piece, positions - at * piece));
    }
    return all;
}

template <class Spec, class Table>
void check_bits(index_t queries, index_t keys, Spec const& spec, Table const& table) {
    differentiated const whole(sequence<float>(queries, keys));
    auto const alone = whole.over(MPI_COMM_SELF, mpi::contiguous, mpi::contiguous, piece, spec, table, false, 1);
    auto const check = [&](auto const& of_queries, auto const& of_keys, bool saves, index_t workers) {
        INFO("rank " << world_rank() << " of " << world_size() << ", " << of_queries.text() << ", " << of_keys.text()
                     << ", " << text(spec));
        auto const got = whole.over(MPI_COMM_WORLD, of_queries, of_keys, piece, spec, table, saves, workers);
        CHECK(got.query.elements == rows_of(alone.query, held_here(of_queries, queries)).elements);
        CHECK(got.key.elements == rows_of(alone.key, held_here(of_keys, keys)).elements);
        CHECK(got.value.elements == rows_of(alone.value, held_here(of_keys, keys)).elements);
        CHECK(got.table.elements == alone.table.elements);
    };
    check(mpi::striped(piece), mpi::striped(piece), false, 2);
    check(mpi::striped(3 * piece), mpi::striped(piece), true, 1);
    check(shuffled(queries), shuffled(keys), false, 3);
    check(mpi::striped(piece), shuffled(keys), true, 2);
}

}  // namespace

TEST_CASE("the same bits where one rank, which holds all, adds up both sums at once", "[mpi]") {
    differentiated const whole(sequence<float>(167, 167));
    constexpr auto spec = scaled_dot | causal | softmax | weighted_sum;
    auto const over = [&](MPI_Comm comm, mpi::listed_t const& held) {
        auto const q = rows_of(whole.of.q, held.own), k = rows_of(whole.of.k, held.own),
                   v = rows_of(whole.of.v, held.own), d = rows_of(whole.d, held.own);
        gradients<tensor<float, 1>> own(q, k, v, tensor<float, 1>({0}));
        gradient(threads(2), mpi::ranks(comm, held).pieces(piece), spec, q, k, v, d, grad(q, own.query),
                 grad(k, own.key), grad(v, own.value));
        return own;
    };
    mpi::listed_t all;
    mpi::detail::add_run(all.own, 0, 167);
    auto const alone = over(MPI_COMM_SELF, all);
    auto const held = shuffled(167);
    auto const got = over(MPI_COMM_WORLD, held);
    CHECK(got.query.elements == rows_of(alone.query, held.own).elements);
    CHECK(got.key.elements == rows_of(alone.key, held.own).elements);
    CHECK(got.value.elements == rows_of(alone.value, held.own).elements);
}

TEST_CASE("the same bits of gradients on any number of ranks and threads", "[mpi]") {
    testing::dice random{7};
    auto const slopes = testing::random_tensor<float>(random, extents_t<1>{4}, 0.1);
    auto const by_pair = testing::random_tensor<float>(random, extents_t<2>{167, 167});
    auto const by_distance = testing::random_tensor<float>(random, extents_t<2>{4, 200});
    check_bits(167, 167, scaled_dot | bias(by_pair) | sliding_window(40, 4) | softmax | weighted_sum, by_pair);
    check_bits(90, 190,
               scaled_dot | rescore(score + param(by_distance)[head][abs(q_idx - kv_idx)]) | softmax | weighted_sum,
               by_distance);
    check_bits(100, 100, l1_distance(2) | rescore(score * param(slopes)[head]) | weigh(sigmoid(score)) | weighted_sum,
               slopes);
#if FOVEA_TEST_LEVEL > 1
    check_bits(167, 167, scaled_dot | alibi(slopes) | causal | softmax | weighted_sum, slopes);
#endif
}
