// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients over any number of ranks are those of one process: those of rows where the rows are, those of tables on all
// ranks.
#include "mpi/gradients.hpp"

#include <limits>

using namespace sequences;
using namespace fovea::placeholders;

TEST_CASE("gradients of softmax, whoever holds which positions", "[mpi]") {
    differentiated const whole(sequence<float>(103, 103));
    tensor<float, 1> slopes({4});
    std::copy_n(std::begin({0.5f, 0.25f, 0.125f, 0.0625f}), 4, slopes.begin());
    auto const spec = scaled_dot | alibi(slopes) | causal | softmax | weighted_sum;
    whole.check(mpi::contiguous, 32, spec, slopes);
    whole.check(mpi::striped(16), 32, spec, slopes);
    whole.check(mpi::zigzag, 1000, spec, slopes);
    std::vector<int> every;  // from the last one down to the first
    for (int n = 102 - world_rank(); n >= 0; n -= world_size()) every.push_back(n);
    whole.check(mpi::listed(every), 32, spec, slopes);
}

TEST_CASE("a step of training over ranks", "[mpi]") {
    differentiated const whole(sequence<float>(64, 64));
    auto const layout = mpi::striped(8);
    auto const held = held_here(layout, 64);
    auto const q = rows_of(whole.of.q, held), k = rows_of(whole.of.k, held), v = rows_of(whole.of.v, held),
               d_out = rows_of(whole.d, held);
    tensor<float, 1> const slopes({4}, 0.25f);
    tensor<float, 4> out(d_out.extents), d_q(q.extents), d_k(k.extents), d_v(v.extents);
    tensor<float, 1> d_slopes({4});
    saved_rows<float> state;
    auto const ranks = mpi::ranks(MPI_COMM_WORLD, layout);
    auto const spec = scaled_dot | alibi(slopes) | causal | softmax | weighted_sum;
    //! [example]
    attend(threads(2), ranks, spec, q, k, v, out, save(state));  // and a loss, with its gradient d_out
    gradient(threads(2), ranks, spec, q, k, v, d_out, state, grad(q, d_q), grad(k, d_k), grad(v, d_v),
             grad(slopes, d_slopes));
    //! [example]
    auto const all = whole.plain(spec, slopes);
    CHECK(are_close(d_q, rows_of(all.query, held)));
    CHECK(are_close(d_k, rows_of(all.key, held)));
    CHECK(are_close(d_v, rows_of(all.value, held)));
    CHECK(are_close(d_slopes, all.table));
}

TEST_CASE("gradients of weights that go by key", "[mpi]") {
    differentiated const whole(sequence<float>(90, 90));
    tensor<float, 1> const offsets({4}, 0.5f);
    whole.check(mpi::striped(8), 24,
                scaled_dot | rescore(score - param(offsets)[head]) | causal | weigh(sigmoid(score)) | weighted_sum,
                offsets);
}

TEST_CASE("no queries, no keys, and queries that see none, have gradients of zeros", "[mpi]") {
    tensor<float, 1> const slopes({4}, 0.5f);
    auto const spec = scaled_dot | alibi(slopes) | where(kv_idx + 16 <= q_idx) | softmax | weighted_sum;
    for (auto const& [queries, keys] : {std::pair{0, 20}, {7, 0}, {40, 40}}) {
        differentiated const whole(sequence<float>(queries, keys));
        auto const got = whole.over(MPI_COMM_WORLD, mpi::striped(8), mpi::striped(8), 8, spec, slopes, false);
        whole.check_close(got, whole.plain(spec, slopes), mpi::striped(8), mpi::striped(8));
        if (queries != keys) CHECK(got.table.elements == std::vector<float>(4, 0));
    }
}

TEST_CASE("what no query sees reaches no gradient", "[mpi]") {
    differentiated whole(sequence<float>(64, 64));
    for (auto* const rows : {&whole.of.k, &whole.of.v})
        for (index_t n = 40; n < 64; ++n) (*rows)(0, 0, n, 3) = std::numeric_limits<float>::quiet_NaN();
    tensor<float, 1> const slopes({4}, 0.5f);
    auto const spec = scaled_dot | alibi(slopes) | causal | where(kv_idx < 40) | softmax | weighted_sum;
    whole.check(mpi::striped(8), 16, spec, slopes);
}
