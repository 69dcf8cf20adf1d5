// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: night
// Traffic of a call of gradient over ranks: rows as they are stored, to ranks that need them, as its plan says.
#include "mpi/gradients.hpp"

using namespace sequences;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr auto spec = scaled_dot | causal | softmax | weighted_sum;

tensor<bfloat16, 4> in_bf16(tensor<float, 4> const& x) {
    tensor<bfloat16, 4> stored(x.extents);
    for (std::size_t i = 0; i < x.elements.size(); ++i) stored.elements[i] = bfloat16(x.elements[i]);
    return stored;
}

}  // namespace

TEST_CASE("gradients of rows in 16 bits, which travel as they are stored", "[mpi]") {
    differentiated const whole(sequence<float>(64, 64, 1, 4, 2));
    auto const own = mpi::striped(4).held(64, world_rank(), world_size());
    auto const all_q = in_bf16(whole.of.q), all_k = in_bf16(whole.of.k), all_v = in_bf16(whole.of.v),
               all_d = in_bf16(whole.d);
    tensor<float, 4> d_q(all_q.extents), d_k(all_k.extents), d_v(all_v.extents);
    gradient(spec, all_q, all_k, all_v, all_d, grad(all_q, d_q), grad(all_k, d_k), grad(all_v, d_v));
    auto const q = rows_of(all_q, own), k = rows_of(all_k, own), v = rows_of(all_v, own), d = rows_of(all_d, own);
    tensor<float, 4> own_q(q.extents, 7), own_k(k.extents, 7), own_v(v.extents, 7);
    tensor<bfloat16, 4> rounded(k.extents);
    saved_rows<float> state;
    tensor<bfloat16, 4> out(d.extents);
    auto ranks = mpi::ranks(MPI_COMM_WORLD, mpi::striped(4)).pieces(4);
    attend(ranks, spec, q, k, v, out, save(state));
    CHECK(state.complete());
    mpi::traffic sent;
    gradient(ranks.counted_in(sent), spec, q, k, v, d, state, grad(q, own_q), grad(k, own_k), grad(v, own_v));
    gradient(ranks, spec, q, k, v, d, state, grad(k, rounded));
    CHECK(are_close(own_q, rows_of(d_q, own)));
    CHECK(are_close(own_k, rows_of(d_k, own)));
    CHECK(are_close(own_v, rows_of(d_v, own)));
    CHECK(rounded.elements == in_bf16(own_k).elements);
    // Of 4 positions 2 heads of keys have 256 bytes, and of values 176; 4 heads of queries 512, of gradients of results
    // 352 in whole lines, 384, and of three numbers for each row 192. Each rank holds every world_size()th piece of 16.
    index_t received = 0;
    for (index_t piece = 0; piece < 16; ++piece) {
        if (piece % world_size() == world_rank()) continue;
        bool before = false, after = false;  // it holds keys before these queries, queries after these keys
        for (index_t other = world_rank(); other < 16; other += world_size()) {
            before = before || other < piece;
            after = after || other > piece;
        }
        received += (after ? 256 + 176 : 0) + (before ? 512 + 384 + 192 : 0);
    }
    CHECK(sent.bytes_received == received);
    auto const text = explain_gradient(ranks, spec, q, k, v, d, state, grad(q, own_q), grad(k, own_k));
    INFO(text);
    CHECK_THAT(text, ContainsSubstring("of queries  keys and values travel: a piece has 432 bytes"));
    CHECK_THAT(text, ContainsSubstring(
                         "of keys     queries travel, with the gradients of their results: a piece has 1088 bytes"));
    std::vector<index_t> all_sent(static_cast<std::size_t>(world_size()));
    MPI_Allgather(&sent.bytes_sent, 1, MPI_INT64_T, all_sent.data(), 1, MPI_INT64_T, MPI_COMM_WORLD);
    std::string listed;
    for (std::size_t r = 0; r < all_sent.size(); ++r) listed += (r == 0 ? "" : ", ") + std::to_string(all_sent[r]);
    CHECK_THAT(text, ContainsSubstring("sent        " + listed + " bytes"));
}

TEST_CASE("gradients of numbers of 64 bits, and what of tables is added up over ranks", "[mpi]") {
    sequence<double> whole(70, 70);
    auto const all_d = testing::random_tensor<double>(whole.random, whole.result());
    tensor<double, 1> const slopes({4}, 0.25);
    tensor<double, 1> d_slopes({4}), got_slopes({4}, 7);
    tensor<double, 4> d_k(whole.k.extents);
    auto const with_table = scaled_dot | alibi(slopes) | causal | softmax | weighted_sum;
    gradient(with_table, whole.q, whole.k, whole.v, all_d, grad(whole.k, d_k), grad(slopes, d_slopes));
    auto const own = mpi::striped(16).held(70, world_rank(), world_size());
    auto const q = rows_of(whole.q, own), k = rows_of(whole.k, own), v = rows_of(whole.v, own), d = rows_of(all_d, own);
    tensor<double, 4> got_k(k.extents, 7);
    auto const ranks = mpi::ranks(MPI_COMM_WORLD, mpi::striped(16)).pieces(16);
    gradient(ranks, with_table, q, k, v, d, grad(k, got_k), grad(slopes, got_slopes));
    auto const check_close = [](auto const& a, auto const& b) {
        for (std::size_t i = 0; i < a.elements.size(); ++i)
            CHECK(a.elements[i] == Approx(b.elements[i]).epsilon(1e-12).margin(1e-12));
    };
    check_close(got_k, rows_of(d_k, own));
    check_close(got_slopes, d_slopes);
    workspace scratch;
    auto const text =
        explain_gradient(threads(2), scratch, ranks, with_table, q, k, v, d, grad(k, got_k), grad(slopes, got_slopes));
    INFO(text);
    CHECK_THAT(text, ContainsSubstring("schedule    keys and values travel"));  // of the forward call
    CHECK_THAT(text, ContainsSubstring("arrays      4 elements, of which all ranks add up 2176 bytes"));
}
