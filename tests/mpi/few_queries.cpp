// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Few queries over many keys: queries travel, and partial results come back.
#include "mpi/sequence.hpp"

#include <numeric>

using namespace sequences;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr index_t piece = 16;
constexpr auto decoded = scaled_dot | causal_at_end | softmax | weighted_sum;

/// The queries where one rank has them all.
mpi::listed_t all_on(int rank, index_t queries) {
    std::vector<index_t> own(static_cast<std::size_t>(world_rank() == rank ? queries : 0));
    std::iota(own.begin(), own.end(), index_t{0});
    return mpi::listed(own);
}

/// A call of all ranks, and what it sends.
template <class Queries, class Keys, class Spec>
struct spread {
    mpi::ranks_t<Queries, Keys> ranks;
    mpi::runs queries, keys;
    mpi::traffic counts{};
    tensor<float, 4> q, k, v, out;
    tensor<float, 3> sums;
    Spec const& spec;

    spread(sequence<float> const& whole, Queries const& of_queries, Keys const& of_keys, Spec const& s)
        : ranks(mpi::ranks(MPI_COMM_WORLD, of_queries, of_keys).pieces(piece).counted_in(counts)),
          queries(held_here(of_queries, whole.q.extent(2))),
          keys(held_here(of_keys, whole.k.extent(2))),
          q(rows_of(whole.q, queries)),
          k(rows_of(whole.k, keys)),
          v(rows_of(whole.v, keys)),
          out({q.extent(0), q.extent(1), q.extent(2), v.extent(3)}, 7),
          sums({q.extent(0), q.extent(1), q.extent(2)}, 7),
          spec(s) {
        attend(threads(2), ranks, spec, q, k, v, out, lse(sums));
    }
};

template <class Spec>
void check(sequence<float> const& whole, Spec const& spec) {
    tensor<float, 4> plain(whole.result()), alone(whole.result());
    tensor<float, 3> sums(whole.rows()), alone_sums(whole.rows());
    attend(spec, whole.q, whole.k, whole.v, plain, lse(sums));
    attend(mpi::ranks(MPI_COMM_SELF).pieces(piece), spec, whole.q, whole.k, whole.v, alone, lse(alone_sums));
    for (std::size_t i = 0; i < plain.elements.size(); ++i)
        CHECK(alone.elements[i] == Approx(plain.elements[i]).margin(1e-5));
    for (std::size_t i = 0; i < sums.elements.size(); ++i)
        CHECK(alone_sums.elements[i] == Approx(sums.elements[i]).margin(1e-5));
    auto const check_same = [&](auto const& queries, auto const& keys) {
        INFO("rank " << world_rank() << " of " << world_size() << ", " << queries.text() << ", " << keys.text());
        spread const call(whole, queries, keys, spec);
        CHECK(call.out.elements == rows_of(alone, call.queries).elements);
        CHECK(call.sums.elements == rows_of(alone_sums, call.queries).elements);
    };
    check_same(all_on(world_size() - 1, whole.q.extent(2)), mpi::striped(piece));
    check_same(mpi::contiguous, mpi::striped(3 * piece));  // some ranks have no query
    check_same(mpi::striped(2), all_on(0, whole.k.extent(2)));
}

}  // namespace

TEST_CASE("few queries over the keys of all ranks, with the same bits wherever both are", "[mpi]") {
    check(sequence<float>(5, 333), decoded);
}

TEST_CASE("the plan of few queries says what is sent", "[mpi]") {
    sequence<float> const whole(5, 333);
    spread call(whole, all_on(0, 5), mpi::striped(2 * piece), decoded);
    auto const text = explain(call.ranks, decoded, call.q, call.k, call.v, call.out, lse(call.sums));
    INFO(text);
    CHECK_THAT(text, ContainsSubstring("ranks       " + std::to_string(world_size())
                                       + ", queries listed, keys striped(32)\nschedule    queries travel"));
    // Of 2 x 4 heads of 5 queries: 11 numbers of a result and 2 of softmax; of 2 x 2 heads of 16 keys: 16 + 11 numbers.
    CHECK_THAT(text, ContainsSubstring("over a piece have 2080 bytes, and the piece 6912"));
    CHECK_THAT(text, ContainsSubstring("21 of at most 16 positions, 0 seen by no query"));
    std::vector<index_t> sent(static_cast<std::size_t>(world_size()));
    MPI_Allgather(&call.counts.bytes_sent, 1, MPI_INT64_T, sent.data(), 1, MPI_INT64_T, MPI_COMM_WORLD);
    for (std::size_t r = 0; r < sent.size(); ++r) {
        // 21 pieces in runs of two, each of which is one partial result for rank 0, which sends its queries.
        index_t const others = world_size() - 1, stripes = (10 - static_cast<index_t>(r)) / world_size() + 1;
        CHECK(sent[r] == (r == 0 ? 2560 * others : stripes * 2080));
    }
    std::string listed;
    for (std::size_t r = 0; r < sent.size(); ++r) listed += (r == 0 ? "" : ", ") + std::to_string(sent[r]);
    CHECK_THAT(text, ContainsSubstring("sent        " + listed + " bytes"));
}

TEST_CASE("the plan of many queries says what is sent, and what is not", "[mpi]") {
    sequence<float> const whole(160, 160);
    constexpr auto spec = scaled_dot | causal | softmax | weighted_sum;
    spread call(whole, mpi::striped(piece), mpi::striped(piece), spec);
    auto const text = explain(threads(2), call.ranks, spec, call.q, call.k, call.v, call.out, lse(call.sums));
    INFO(text);
    CHECK_THAT(text, ContainsSubstring("schedule    keys and values travel: a piece has 6912 bytes"));
    std::vector<index_t> sent(static_cast<std::size_t>(world_size()));
    MPI_Allgather(&call.counts.bytes_sent, 1, MPI_INT64_T, sent.data(), 1, MPI_INT64_T, MPI_COMM_WORLD);
    std::string listed;
    for (std::size_t r = 0; r < sent.size(); ++r) listed += (r == 0 ? "" : ", ") + std::to_string(sent[r]);
    CHECK_THAT(text, ContainsSubstring("sent        " + listed + " bytes"));
    // Of two ranks the first does not need the last piece, and the second needs all.
    if (world_size() == 2) CHECK_THAT(text, ContainsSubstring("1 of 10 transfers to ranks with queries left out"));
}

TEST_CASE("the best key of all ranks, whatever travels", "[mpi]") {
    auto const check_hard = [](index_t queries, index_t keys, std::string const& way) {
        sequence<float> whole(queries, keys);
        for (auto& x : whole.q.elements) x = std::round(x);  // so that keys of several pieces are equally good
        for (auto& x : whole.k.elements) x = std::round(x);
        constexpr auto spec = dot | causal_at_end | hardmax | weighted_sum;
        tensor<float, 4> plain(whole.result());
        attend(spec, whole.q, whole.k, whole.v, plain);
        auto const own = held_here(mpi::striped(4), queries), keys_held = held_here(mpi::striped(piece), keys);
        auto const q = rows_of(whole.q, own), k = rows_of(whole.k, keys_held), v = rows_of(whole.v, keys_held);
        tensor<float, 4> out({q.extent(0), q.extent(1), q.extent(2), v.extent(3)}, 7);
        auto const ranks = mpi::ranks(MPI_COMM_WORLD, mpi::striped(4), mpi::striped(piece)).pieces(piece);
        attend(threads(2), ranks, spec, q, k, v, out);
        CHECK(out.elements == rows_of(plain, own).elements);
        CHECK_THAT(explain(ranks, spec, q, k, v, out), ContainsSubstring("schedule    " + way));
    };
    check_hard(5, 130, "queries travel");
    check_hard(130, 130, "keys and values travel");
}

TEST_CASE("no queries, or no keys", "[mpi]") {
    for (auto const& [queries, keys] : {std::pair{0, 20}, {3, 0}}) {
        sequence<float> const whole(queries, keys);
        spread const call(whole, all_on(0, queries), all_on(world_size() - 1, keys), decoded);
        CHECK(call.out.elements == std::vector<float>(call.out.elements.size(), 0));
    }
}
