// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Over any number of ranks an attention gives what it is defined to be over the whole sequence.
#include <fovea/interop/mpi/global_sequence.hpp>

#include "mpi/sequence.hpp"

using namespace sequences;
using namespace fovea::placeholders;

TEST_CASE("softmax over ranks, whoever holds which positions", "[mpi]") {
    sequence<float> const whole(203, 203);
    auto const slopes = alibi_slopes(4);
    auto const spec = scaled_dot | alibi(slopes) | causal | softmax | weighted_sum;
    check_defined(whole, mpi::contiguous, 32, spec);
    check_defined(whole, mpi::striped(16), 32, spec);
    check_defined(whole, mpi::zigzag, 1000, spec);
    std::vector<int> every;  // from the last one down to the first
    for (int n = 202 - world_rank(); n >= 0; n -= world_size()) every.push_back(n);
    check_defined(whole, mpi::listed(every), 32, spec);
}

TEST_CASE("other normalizers and aggregators over ranks", "[mpi]") {
    sequence<float> const whole(150, 150);
    std::vector<float> const per_head{0.5f, -1, 0, 2};
    check_defined(whole, mpi::striped(8), 24, scaled_dot | causal | weigh(sigmoid(score - 1)) | weighted_sum);
    check_defined(whole, mpi::striped(8), 24, scaled_dot | causal | softmax_with_sink(per_head) | weighted_sum);
    check_defined(whole, mpi::striped(8), 24, scaled_dot | keep(threshold(-0.2)) | softmax | weighted_sum);
    check_defined(whole, mpi::contiguous, 24, gaussian(1.5) | sliding_window(30, 4) | proportional | max_pool);
}

TEST_CASE("tables are those of the whole sequence, and queries may be others than keys", "[mpi]") {
    sequence<float> const whole(61, 170);
    std::vector<int> const lengths{170, 99};
    testing::dice random{5};
    auto const table = testing::random_tensor<float>(random, extents_t<2>{61, 170});
    std::vector<std::uint8_t> seen(61 * 170 / 8 + 1);
    for (auto& each : seen) each = static_cast<std::uint8_t>(random.between(0, 255));
    auto const bits = packed_bits(seen, {61, 170});  // rows that begin anywhere in a byte
    check_defined(whole, mpi::contiguous, 16,
                  scaled_dot | bias(table) | mask_tensor(bits) | key_lengths(lengths) | softmax | weighted_sum);
    check_defined(whole, mpi::striped(4), 16, scaled_dot | causal_at_end | softmax | weighted_sum);
}

TEST_CASE("a log-sum-exp for each query of a rank", "[mpi]") {
    sequence<float> const whole(90, 90);
    constexpr auto spec = scaled_dot | causal | softmax | weighted_sum;
    tensor<float, 4> out(whole.result());
    tensor<float, 3> sums(whole.rows());
    attend(spec, whole.q, whole.k, whole.v, out, lse(sums));
    auto const own = mpi::zigzag.held(90, world_rank(), world_size());
    auto const expected = rows_of(sums, own);
    tensor<float, 3> got(expected.extents, 7);
    static_cast<void>(whole.over(mpi::zigzag, 20, spec, lse(got)));
    for (std::size_t i = 0; i < got.elements.size(); ++i)
        CHECK(got.elements[i] == Approx(expected.elements[i]).margin(1e-5));
}

TEST_CASE("keys travel as they are stored", "[mpi]") {
    sequence<float> const whole(64, 64, 1, 2, 2);
    auto const in_bf16 = [](tensor<float, 4> const& x) {
        tensor<bfloat16, 4> stored({x.extent(0), x.extent(1), x.extent(2), x.extent(3)});
        for (std::size_t i = 0; i < x.elements.size(); ++i) stored.elements[i] = bfloat16(x.elements[i]);
        return stored;
    };
    auto const k = in_bf16(whole.k), v = in_bf16(whole.v);
    constexpr auto spec = scaled_dot | causal | softmax | weighted_sum;
    tensor<float, 4> expected(whole.result());
    attend(spec, whole.q, k, v, expected);
    auto const own = mpi::striped(4).held(64, world_rank(), world_size());
    auto const own_q = rows_of(whole.q, own), wanted = rows_of(expected, own);
    auto const own_k = rows_of(k, own), own_v = rows_of(v, own);
    tensor<float, 4> got(wanted.extents, 7);
    mpi::traffic sent;
    attend(mpi::ranks(MPI_COMM_WORLD, mpi::striped(4)).pieces(4).counted_in(sent), spec, own_q, own_k, own_v, got);
    for (std::size_t i = 0; i < got.elements.size(); ++i)
        CHECK(got.elements[i] == Approx(wanted.elements[i]).margin(1e-5));
    // A piece is 2 heads of 4 positions of 16 and 11 features: 256 bytes of keys, which are whole lines, and 176.
    index_t const last_own = (15 - world_rank()) / world_size() * world_size() + world_rank();
    index_t received = 0;
    for (index_t piece = 0; piece < 16; ++piece) received += piece % world_size() != world_rank() && piece <= last_own;
    CHECK(sent.bytes_received == received * 432);
}

TEST_CASE("a layer with projections, rotary positions and what comes after the heads", "[mpi]") {
    testing::dice random{3};
    auto const x = testing::random_tensor<float>(random, extents_t<3>{2, 101, 24});
    auto const matrix = [&](index_t rows, index_t columns) {
        return testing::random_tensor<float>(random, extents_t<2>{rows, columns}, 0.4);
    };
    auto const wq = matrix(24, 32), wk = matrix(24, 16), wv = matrix(24, 16), wo = matrix(32, 24);
    auto const spec = project(linear(wq) | rotary, linear(wk) | rotary, linear(wv), heads<4, 2>) | scaled_dot | causal
                    | softmax | weighted_sum | concat_heads | output(wo) | residual | map(out * (q_idx + 1));
    tensor<float, 3> plain({2, 101, 24}), expected({2, 101, 24});
    attend(spec, x, plain);
    auto const own = mpi::striped(8).held(101, world_rank(), world_size());
    index_t const count = mpi::detail::positions_in(own);
    tensor<float, 3> own_x({2, count, 24}), got({2, count, 24}, 7);
    auto const each = [&](auto const& f) {
        for (auto const& run : own)
            for (index_t b = 0; b < 2; ++b)
                for (index_t n = 0; n < run.count; ++n)
                    for (index_t c = 0; c < 24; ++c) f(b, run.place + n, run.first + n, c);
    };
    each([&](index_t b, index_t here, index_t there, index_t c) { own_x(b, here, c) = x(b, there, c); });
    attend(mpi::ranks(MPI_COMM_WORLD, mpi::striped(8)).pieces(16), spec, own_x, got);
    each([&](index_t b, index_t here, index_t there, index_t c) {
        CHECK(got(b, here, c) == Approx(plain(b, there, c)).margin(1e-5 * static_cast<double>(there + 1)));
    });
}
