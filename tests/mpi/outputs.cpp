// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Outputs beside the result are, on each rank, what one process has for the queries of that rank.
#include "mpi/sequence.hpp"

#include <algorithm>
#include <cmath>

using namespace sequences;
using namespace fovea::placeholders;
using Catch::Matchers::ContainsSubstring;

namespace {

/// The outputs of one call, for `queries` of a sequence.
struct outputs {
    tensor<float, 4> weights, raw, rescored, masked;
    tensor<float, 3> lse, entropy;
    tensor<int, 3> best;
    saved_rows<float> saved;

    outputs(sequence<float> const& whole, index_t queries)
        : weights({whole.q.extent(0), whole.q.extent(1), queries, whole.k.extent(2)}, 7),
          raw(weights),
          rescored(weights),
          masked(weights),
          lse({whole.q.extent(0), whole.q.extent(1), queries}, 7),
          entropy(lse),
          best({whole.q.extent(0), whole.q.extent(1), queries}, 7) {}
};

template <int Rank>
void check_close(char const* what, tensor<float, Rank> const& got, tensor<float, Rank> const& expected) {
    INFO(what);
    REQUIRE(got.elements.size() == expected.elements.size());
    for (std::size_t i = 0; i < got.elements.size(); ++i) {
        if (got.elements[i] == expected.elements[i]) continue;  // -inf too
        CHECK(got.elements[i] == Approx(expected.elements[i]).margin(2e-5));
    }
}
template <int Rank>
tensor<float, Rank> copied(view<float const, Rank> const& from) {
    tensor<float, Rank> to(from.extents);
    std::copy_n(from.data, to.elements.size(), to.elements.begin());
    return to;
}

/// The log-sum-exp of saved rows: a maximum and a sum stand for it, and may be any that do.
tensor<float, 3> saved_lse(saved_rows<float> const& saved) {
    auto sums = copied(saved.max());
    for (std::size_t i = 0; i < sums.elements.size(); ++i)
        sums.elements[i] += std::log(copied(saved.sum()).elements[i]);
    return sums;
}

template <class Layout, class Spec>
void check(sequence<float> const& whole, Layout const& layout, index_t piece, Spec const& spec) {
    INFO("rank " << world_rank() << " of " << world_size() << ", " << layout.text() << ", " << text(spec));
    auto const call = [&](auto const& over, auto const& own_q, auto const& own_k, auto const& own_v, auto& own_out,
                          outputs& o) {
        over(spec, own_q, own_k, own_v, own_out, weights(o.weights), scores<score_stage::raw>(o.raw),
             scores<score_stage::rescored>(o.rescored), scores(o.masked), lse(o.lse), entropy(o.entropy),
             best_key(o.best), save(o.saved));
    };
    tensor<float, 4> plain(whole.result()), alone(whole.result());
    outputs one(whole, whole.q.extent(2)), by_itself(whole, whole.q.extent(2));
    call([](auto&&... arguments) { attend(arguments...); }, whole.q, whole.k, whole.v, plain, one);
    call([&](auto&&... arguments) { attend(mpi::ranks(MPI_COMM_SELF).pieces(piece), arguments...); }, whole.q, whole.k,
         whole.v, alone, by_itself);
    auto const queries = held_here(layout, whole.q.extent(2)), keys = held_here(layout, whole.k.extent(2));
    auto const own_q = rows_of(whole.q, queries), own_k = rows_of(whole.k, keys), own_v = rows_of(whole.v, keys);
    tensor<float, 4> own_out({own_q.extent(0), own_q.extent(1), own_q.extent(2), own_v.extent(3)}, 7);
    outputs some(whole, own_q.extent(2));
    call(
        [&](auto&&... arguments) {
            attend(threads(2), mpi::ranks(MPI_COMM_WORLD, layout).pieces(piece), arguments...);
        },
        own_q, own_k, own_v, own_out, some);
    check_close("result", own_out, rows_of(plain, queries));
    check_close("weights", some.weights, rows_of(one.weights, queries));
    check_close("raw scores", some.raw, rows_of(one.raw, queries));
    check_close("rescored scores", some.rescored, rows_of(one.rescored, queries));
    check_close("masked scores", some.masked, rows_of(one.masked, queries));
    check_close("lse", some.lse, rows_of(one.lse, queries));
    check_close("entropy", some.entropy, rows_of(one.entropy, queries));
    CHECK(some.best.elements == rows_of(one.best, queries).elements);
    CHECK(some.saved.complete() == one.saved.complete());
    if (one.saved.complete()) {
        check_close("saved rows", saved_lse(some.saved), rows_of(saved_lse(one.saved), queries));
        check_close("saved result", copied(some.saved.result()), rows_of(copied(one.saved.result()), queries));
    }
    CHECK(own_out.elements == rows_of(alone, queries).elements);  // the bits, where runs are whole pieces
    CHECK(some.weights.elements == rows_of(by_itself.weights, queries).elements);
    CHECK(some.masked.elements == rows_of(by_itself.masked, queries).elements);
    CHECK(some.lse.elements == rows_of(by_itself.lse, queries).elements);
}

}  // namespace

TEST_CASE("every output over ranks", "[mpi]") {
    auto const slopes = alibi_slopes(4);
    sequence<float> const whole(93, 93);
    check(whole, mpi::striped(16), 16, scaled_dot | alibi(slopes) | causal | softmax | weighted_sum);
    check(whole, mpi::striped(32), 16, scaled_dot | sliding_window(20, 0) | softmax | weighted_sum);
}

TEST_CASE("what keys receive from the queries of all ranks", "[mpi]") {
    sequence<float> const whole(93, 93);
    constexpr auto spec = scaled_dot | causal | softmax | weighted_sum;
    tensor<float, 4> plain(whole.result());
    tensor<float, 3> expected({2, 4, 93}), alone(expected);
    attend(spec, whole.q, whole.k, whole.v, plain, column_sums(expected));
    attend(mpi::ranks(MPI_COMM_SELF).pieces(16), spec, whole.q, whole.k, whole.v, plain, column_sums(alone));
    check_close("of one rank", alone, expected);
    auto const check_over = [&](auto const& layout) {
        tensor<float, 3> got(expected.extents, 7);
        static_cast<void>(whole.over(layout, 16, spec, column_sums(got)));
        CHECK(got.elements == alone.elements);
    };
    check_over(mpi::striped(16));
    check_over(mpi::striped(32));
    tensor<float, 3> got(expected.extents, 7);
    static_cast<void>(whole.over(mpi::contiguous, 16, spec, column_sums(got)));
    check_close("of contiguous positions", got, expected);
}

TEST_CASE("rows are saved where keys travel, and where queries do", "[mpi]") {
    auto const check_saved = [](sequence<float> const& whole, auto const& layout, auto const& spec, auto what) {
        tensor<float, 4> plain(whole.result());
        saved_rows<float> one, some;
        attend(spec, whole.q, whole.k, whole.v, plain, save(one));
        auto const queries = held_here(layout, whole.q.extent(2)), keys = held_here(layout, whole.k.extent(2));
        auto const own_q = rows_of(whole.q, queries), own_k = rows_of(whole.k, keys), own_v = rows_of(whole.v, keys);
        tensor<bfloat16, 4> own_out({own_q.extent(0), own_q.extent(1), own_q.extent(2), own_v.extent(3)});
        auto const ranks = mpi::ranks(MPI_COMM_WORLD, layout).pieces(16);
        CHECK_THAT(explain(ranks, spec, own_q, own_k, own_v, own_out, save(some)), ContainsSubstring(what));
        attend(ranks, spec, own_q, own_k, own_v, own_out, save(some));
        CHECK(some.complete());
        check_close("saved rows", saved_lse(some), rows_of(saved_lse(one), queries));
        check_close("saved result", copied(some.result()), rows_of(copied(one.result()), queries));
    };
    check_saved(sequence<float>(100, 100), mpi::zigzag, scaled_dot | causal | softmax | weighted_sum,
                "keys and values");
    check_saved(sequence<float>(4, 300), mpi::contiguous, scaled_dot | causal_at_end | softmax | weighted_sum,
                "queries travel");
}

TEST_CASE("the plan of a call whose rows are read whole", "[mpi]") {
    sequence<float> const whole(4, 64);
    auto const held = held_here(mpi::striped(16), 64), queries = held_here(mpi::striped(16), 4);
    auto const own_q = rows_of(whole.q, queries), own_k = rows_of(whole.k, held), own_v = rows_of(whole.v, held);
    tensor<float, 4> own_out({own_q.extent(0), own_q.extent(1), own_q.extent(2), own_v.extent(3)});
    CHECK_THAT(explain(mpi::ranks(MPI_COMM_WORLD, mpi::striped(16)).pieces(16), scaled_dot | sparsemax | weighted_sum,
                       own_q, own_k, own_v, own_out),
               ContainsSubstring("keys and values travel, and are kept: rows are read whole"));
}

TEST_CASE("an output that is wrong on one rank throws on all", "[mpi]") {
    sequence<float> const whole(40, 40);
    auto const held = held_here(mpi::zigzag, 40);
    auto const own_q = rows_of(whole.q, held), own_k = rows_of(whole.k, held), own_v = rows_of(whole.v, held);
    tensor<float, 4> own_out({own_q.extent(0), own_q.extent(1), own_q.extent(2), own_v.extent(3)}, 7);
    auto const before = own_out.elements;
    bool const last = world_rank() == world_size() - 1;
    tensor<float, 4> wrong({2, 4, own_q.extent(2), last ? 39 : 40});
    CHECK_THROWS_WITH(attend(mpi::ranks(MPI_COMM_WORLD, mpi::zigzag), scaled_dot | softmax | weighted_sum, own_q, own_k,
                             own_v, own_out, weights(wrong)),
                      ContainsSubstring("rank " + std::to_string(world_size() - 1) + ": weights are (2, 4, "));
    CHECK(own_out.elements == before);
}
