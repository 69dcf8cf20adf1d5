// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Running states go from rank to rank: results have the bits of one process, however positions are dealt.
#include "mpi/sequence.hpp"

#include <cmath>
#include <memory>
#include <utility>

using namespace sequences;
using namespace fovea::placeholders;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A number for each step of a whole sequence.
tensor<float, 4> steps(sequence<float> const& whole, index_t features, double least, double most) {
    testing::dice random{11};
    tensor<float, 4> all({whole.k.extent(0), whole.k.extent(1), whole.k.extent(2), features});
    for (auto& x : all.elements) x = static_cast<float>(random.real(least, most));
    return all;
}

/// Past and present states of a call.
struct given_states {
    tensor<float, 4> past, present;
    given_states(sequence<float> const& whole, index_t columns)
        : past({whole.k.extent(0), whole.k.extent(1), whole.k.extent(3), columns}), present(past) {
        testing::dice random{3};
        past = testing::random_tensor<float>(random, past.extents, 0.5);
        for (auto& x : past.elements) x = std::abs(x);  // proportional divides by the sum of the keys
    }
};

/// spec_of(runs) is the specification of a rank with these runs of positions.
template <class SpecOf>
void check_bits(sequence<float> const& whole, index_t columns, SpecOf const& spec_of) {
    given_states alone(whole, columns);
    tensor<float, 4> expected(whole.result(), 7);
    mpi::runs const all{{0, whole.k.extent(2), 0}};
    {
        auto const [spec, tables] = spec_of(all);
        attend(spec, whole.q, whole.k, whole.v, expected, past_state(alone.past), present_state(alone.present));
    }
    auto const check = [&](auto const& layout) {
        for (index_t threads_of_rank : {1, 3}) {
            INFO("rank " << world_rank() << " of " << world_size() << ", " << layout.text() << ", " << threads_of_rank
                         << " threads");
            auto const held = held_here(layout, whole.k.extent(2));
            auto const [spec, tables] = spec_of(held);
            auto const own_q = rows_of(whole.q, held), own_k = rows_of(whole.k, held), own_v = rows_of(whole.v, held);
            tensor<float, 4> own_out({own_q.extent(0), own_q.extent(1), own_q.extent(2), own_v.extent(3)}, 7);
            given_states over(whole, columns);
            attend(threads(threads_of_rank), mpi::ranks(MPI_COMM_WORLD, layout), spec, own_q, own_k, own_v, own_out,
                   past_state(over.past), present_state(over.present));
            CHECK(own_out.elements == rows_of(expected, held).elements);
            CHECK(over.present.elements == alone.present.elements);
        }
    };
    check(mpi::contiguous);  // some ranks have no positions
    check(mpi::striped(16));
    check(mpi::striped(7));
    check(mpi::zigzag);
}

template <class Spec>
auto same(Spec const& spec) {
    return [=](mpi::runs const&) { return std::pair(spec, 0); };
}

}  // namespace

TEST_CASE("a running state over ranks has the bits of one process", "[mpi]") {
    check_bits(sequence<float>(149, 149), 11, same(scaled_dot | causal | unnormalized | running_state));
    check_bits(sequence<float>(90, 90, 1, 3, 3), 11, same(scaled_dot | unnormalized | running_state));
}

TEST_CASE("features of keys that know their positions, and the sum of the keys", "[mpi]") {
    auto const mapped = feature_map(elu(q) + 1, (elu(k) + 1) * (1 + kv_idx));
    check_bits(sequence<float>(149, 149), 12, same(mapped | causal | proportional | running_state));
    check_bits(sequence<float>(60, 60), 12, same(mapped | proportional | running_state));
}

TEST_CASE("gates and rates of the positions of a rank", "[mpi]") {
    sequence<float> const whole(131, 131);
    auto const decays = steps(whole, 16, -0.3, 0), head_decays = steps(whole, 1, -0.3, 0),
               rates = steps(whole, 1, 0, 0.1);
    std::vector<float> const per_head{-0.1f, -0.01f};
    check_bits(whole, 11, [&](mpi::runs const& held) {
        auto const own = std::make_shared<tensor<float, 4>>(rows_of(decays, held));
        return std::pair(scaled_dot | causal | unnormalized | running_state | gated(*own), own);
    });
    check_bits(whole, 11, [&](mpi::runs const& held) {
        auto const own = std::make_shared<std::pair<tensor<float, 4>, tensor<float, 4>>>(rows_of(head_decays, held),
                                                                                         rows_of(rates, held));
        return std::pair(scaled_dot | causal | unnormalized | running_state | gated(own->first) | delta(own->second),
                         own);
    });
    check_bits(whole, 12, same(feature_map(elu(q) + 1) | causal | proportional | running_state | gated(per_head)));
}

TEST_CASE("a layer with a running state", "[mpi]") {
    testing::dice random{3};
    auto const x = testing::random_tensor<float>(random, extents_t<3>{2, 101, 24});
    auto const wq = testing::random_tensor<float>(random, extents_t<2>{24, 32}, 0.4),
               wk = testing::random_tensor<float>(random, extents_t<2>{24, 16}, 0.4),
               wo = testing::random_tensor<float>(random, extents_t<2>{32, 24}, 0.4);
    auto const spec = project(linear(wq) | rotary, linear(wk) | rotary, linear(wk), heads<4, 2>) | scaled_dot | causal
                    | unnormalized | running_state | concat_heads | output(wo) | residual | map(out * (q_idx + 1));
    tensor<float, 3> expected({2, 101, 24});
    attend(spec, x, expected);
    auto const held = mpi::striped(8).held(101, world_rank(), world_size());
    tensor<float, 3> const own_x = positions_of(x, held), wanted = positions_of(expected, held);
    tensor<float, 3> got(own_x.extents, 7);
    attend(mpi::ranks(MPI_COMM_WORLD, mpi::striped(8)), spec, own_x, got);
    for (std::size_t i = 0; i < got.elements.size(); ++i)
        CHECK(got.elements[i] == Approx(wanted.elements[i]).epsilon(1e-4).margin(1e-4));
}

TEST_CASE("a state as it is stored, and a sequence without positions", "[mpi]") {
    constexpr auto spec = scaled_dot | causal | unnormalized | running_state;
    tensor<float, 4> const none({1, 2, 0, 16});
    tensor<float, 4> values({1, 2, 0, 11}), own_out({1, 2, 0, 11});
    tensor<double, 4> past({1, 2, 16, 11}, world_rank() == 0 ? 0.5 : 9.0);
    tensor<bfloat16, 4> present({1, 2, 16, 11});
    attend(mpi::ranks(MPI_COMM_WORLD), spec, none, none, values, own_out, past_state(past), present_state(present));
    for (auto const x : present.elements) CHECK(static_cast<float>(x) == 0.5f);
}

TEST_CASE("the plan of running states says what is sent", "[mpi]") {
    sequence<float> const whole(64, 64);
    constexpr auto spec = scaled_dot | causal | unnormalized | running_state;
    auto const held = mpi::striped(16).held(64, world_rank(), world_size());
    auto const own_q = rows_of(whole.q, held), own_k = rows_of(whole.k, held), own_v = rows_of(whole.v, held);
    tensor<float, 4> own_out({own_q.extent(0), own_q.extent(1), own_q.extent(2), own_v.extent(3)});
    mpi::traffic counts;
    auto const ranks = mpi::ranks(MPI_COMM_WORLD, mpi::striped(16)).counted_in(counts);
    auto const plan = explain(ranks, spec, own_q, own_k, own_v, own_out);
    INFO(plan);
    CHECK_THAT(plan, ContainsSubstring("states travel, head after head: 4 states of 704 bytes"));
    attend(ranks, spec, own_q, own_k, own_v, own_out);
    index_t sent = 0, all = 0;
    MPI_Allreduce(&counts.bytes_sent, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    sent = world_size() == 1 ? 0 : 3 * 4 * 704;
    CHECK(all == sent);
    CHECK_THAT(plan, ContainsSubstring(std::to_string(sent) + " in all"));
}

TEST_CASE("what is wrong with states on one rank throws on all", "[mpi]") {
    sequence<float> const whole(40, 40);
    constexpr auto spec = scaled_dot | causal | unnormalized | running_state;
    int const last = world_size() - 1;
    auto const held = held_here(mpi::zigzag, 40);
    auto const own_q = rows_of(whole.q, held), own_k = rows_of(whole.k, held), own_v = rows_of(whole.v, held);
    tensor<float, 4> own_out({own_q.extent(0), own_q.extent(1), own_q.extent(2), own_v.extent(3)}, 7);
    auto const before = own_out.elements;
    auto const ranks = mpi::ranks(MPI_COMM_WORLD, mpi::zigzag);
    std::string const of_last = "rank " + std::to_string(last) + ": ";
    tensor<float, 4> const past({2, 2, world_rank() == last ? index_t{15} : index_t{16}, 11});
    CHECK_THROWS_WITH(attend(ranks, spec, own_q, own_k, own_v, own_out, past_state(past)),
                      ContainsSubstring(of_last + "past_state is (2, 2, 15, 11)"));
    tensor<float, 3> const rates({2, 2, own_k.extent(2) + (world_rank() == last ? 1 : 0)});
    CHECK_THROWS_WITH(attend(ranks, spec | delta(rates), own_q, own_k, own_v, own_out),
                      ContainsSubstring(of_last + "delta is (2, 2, "));
    tensor<float, 4> const more({2, 4, own_q.extent(2) + 1, 16});
    tensor<float, 4> more_out({2, 4, own_q.extent(2) + 1, 11});
    CHECK_THROWS_WITH(attend(mpi::ranks(MPI_COMM_WORLD), spec, more, own_k, own_v, more_out),
                      ContainsSubstring("a running state goes along queries and keys together: query has "));
    if (world_size() == 2) {
        CHECK_THROWS_WITH(
            attend(mpi::ranks(MPI_COMM_WORLD, mpi::zigzag, mpi::striped(10)), spec, own_q, own_k, own_v, own_out),
            ContainsSubstring("over ranks each holds the same positions of both"));
    }
    CHECK(own_out.elements == before);
}
