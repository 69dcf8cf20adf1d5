// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A graph is partitioned by its targets: each rank lists the keys of its own queries, and fetches those of others once.
#include "mpi/sequence.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

using namespace sequences;
using namespace fovea::placeholders;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Each query lists some keys, in no order, some of them twice; some queries list none.
struct listed_keys {
    std::vector<index_t> offsets{0};
    std::vector<std::int32_t> keys;
    std::vector<float> numbers;  // of the edges

    listed_keys() = default;
    listed_keys(index_t queries, index_t all_keys) {
        testing::dice random{41};
        for (index_t i = 0; i < queries; ++i) {
            for (index_t n = random.between(0, 9); n > 0 && i % 7 != 3; --n) {
                keys.push_back(static_cast<std::int32_t>(random.between(0, all_keys - 1)));
                numbers.push_back(static_cast<float>(random.real(-1, 1)));
            }
            offsets.push_back(static_cast<index_t>(keys.size()));
        }
    }
    /// The lists of some queries.
    listed_keys of(mpi::runs const& queries) const {
        listed_keys some;
        for (auto const& run : queries)
            for (index_t i = run.first; i < run.first + run.count; ++i) {
                for (auto e = static_cast<std::size_t>(offsets[static_cast<std::size_t>(i)]);
                     e < static_cast<std::size_t>(offsets[static_cast<std::size_t>(i) + 1]); ++e) {
                    some.keys.push_back(keys[e]);
                    some.numbers.push_back(numbers[e]);
                }
                some.offsets.push_back(static_cast<index_t>(some.keys.size()));
            }
        return some;
    }
    graph_view view() const { return {offsets, keys}; }
    fovea::view<float const, 1> edges() const { return {numbers.data(), {static_cast<index_t>(numbers.size())}}; }
};

/// spec_of(lists) is the specification of a rank with these lists.
template <class SpecOf>
void check(sequence<float> const& whole, SpecOf const& spec_of) {
    listed_keys const all(whole.q.extent(2), whole.k.extent(2));
    tensor<float, 4> expected(whole.result(), 7);
    tensor<float, 3> sums(whole.rows(), 7);
    attend(spec_of(all), whole.q, whole.k, whole.v, expected, lse(sums));
    auto const check_over = [&](auto const& of_queries, auto const& of_keys, index_t threads_of_rank) {
        INFO("rank " << world_rank() << " of " << world_size() << ", " << of_queries.text() << ", " << of_keys.text());
        auto const queries = held_here(of_queries, whole.q.extent(2)), keys = held_here(of_keys, whole.k.extent(2));
        auto const own = all.of(queries);
        auto const own_q = rows_of(whole.q, queries), own_k = rows_of(whole.k, keys), own_v = rows_of(whole.v, keys);
        tensor<float, 4> own_out({own_q.extent(0), own_q.extent(1), own_q.extent(2), own_v.extent(3)}, 7);
        tensor<float, 3> own_sums({own_q.extent(0), own_q.extent(1), own_q.extent(2)}, 7);
        attend(threads(threads_of_rank), mpi::ranks(MPI_COMM_WORLD, of_queries, of_keys), spec_of(own), own_q, own_k,
               own_v, own_out, lse(own_sums));
        CHECK(own_out.elements == rows_of(expected, queries).elements);
        CHECK(own_sums.elements == rows_of(sums, queries).elements);
    };
    check_over(mpi::contiguous, mpi::contiguous, 1);  // some ranks have no positions
    check_over(mpi::striped(7), mpi::zigzag, 3);
    check_over(mpi::zigzag, mpi::contiguous, 2);
}

}  // namespace

TEST_CASE("a graph over ranks has the bits of one process", "[mpi]") {
    tensor<float, 2> const of_three({3, 16}, 0.3f);
    check(sequence<float>(83, 83),
          [](auto const& lists) { return scaled_dot | neighbors(lists.view()) | softmax | weighted_sum; });
    check(sequence<float>(83, 60, 1, 3, 3), [&](auto const& lists) {
        return gatv2_score(of_three, 0.2f) | neighbors(lists.view()) | softmax | weighted_sum;
    });
    check(sequence<float>(83, 83), [](auto const& lists) {
        return scaled_dot | rescore(score + param(lists.edges())[edge]) | neighbors(lists.view()) | softmax
             | weighted_sum;
    });
}

TEST_CASE("listed keys that know their positions", "[mpi]") {
    auto const slopes = alibi_slopes(4);
    std::vector<int> kinds(83);
    for (std::size_t i = 0; i < kinds.size(); ++i) kinds[i] = static_cast<int>(i % 5);
    check(sequence<float>(83, 83), [&](auto const& lists) {
        return scaled_dot | alibi(slopes) | neighbors(lists.view()) | causal | softmax | weighted_sum;
    });
    check(sequence<float>(83, 83), [&](auto const& lists) {
        return scaled_dot | neighbors(lists.view()) | document(kinds) | softmax | weighted_sum;
    });
}

TEST_CASE("a layer of graph attention", "[mpi]") {
    testing::dice random{3};
    auto const x = testing::random_tensor<float>(random, extents_t<3>{1, 101, 24});
    auto const w = testing::random_tensor<float>(random, extents_t<2>{24, 32}, 0.4),
               target = testing::random_tensor<float>(random, extents_t<2>{4, 8}),
               source = testing::random_tensor<float>(random, extents_t<2>{4, 8});
    listed_keys const all(101, 101);
    auto const spec_of = [&](listed_keys const& lists) {
        return project(linear(w), linear(w), linear(w), heads<4>) | gat_score(target, source) | neighbors(lists.view())
             | softmax | weighted_sum | concat_heads | map(elu(out));
    };
    tensor<float, 3> expected({1, 101, 32});
    attend(spec_of(all), x, expected);
    auto const held = mpi::striped(8).held(101, world_rank(), world_size());
    auto const own = all.of(held);
    auto const own_x = positions_of(x, held), wanted = positions_of(expected, held);
    tensor<float, 3> got(wanted.extents, 7);
    attend(mpi::ranks(MPI_COMM_WORLD, mpi::striped(8)), spec_of(own), own_x, got);
    for (std::size_t i = 0; i < got.elements.size(); ++i)
        CHECK(got.elements[i] == Approx(wanted.elements[i]).margin(1e-5));
}

TEST_CASE("keys that are listed are sent once, and the plan says so", "[mpi]") {
    sequence<float> const whole(60, 60, 1, 2, 2);
    listed_keys const all(60, 60);
    auto const held = held_here(mpi::striped(10), 60);
    auto const own = all.of(held);
    auto const own_q = rows_of(whole.q, held), own_k = rows_of(whole.k, held), own_v = rows_of(whole.v, held);
    tensor<float, 4> own_out({1, 2, own_q.extent(2), 11});
    auto const spec = scaled_dot | neighbors(own.view()) | softmax | weighted_sum;
    mpi::traffic counts;
    auto const ranks = mpi::ranks(MPI_COMM_WORLD, mpi::striped(10)).counted_in(counts);
    auto const plan = explain(ranks, spec, own_q, own_k, own_v, own_out);
    attend(ranks, spec, own_q, own_k, own_v, own_out);
    std::vector<bool> seen(60, false);
    for (auto const key : own.keys) seen[static_cast<std::size_t>(key)] = true;
    for (auto const& run : held)
        for (index_t n = run.first; n < run.first + run.count; ++n) seen[static_cast<std::size_t>(n)] = false;
    index_t const fetched = std::count(seen.begin(), seen.end(), true);
    index_t received = 0, sent = 0, all_sent = 0;
    // 2 heads of 16 and 11 numbers, and the place of each position that is asked for
    received = fetched * 2 * (16 + 11) * 4;
    MPI_Allreduce(&received, &all_sent, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&counts.bytes_sent, &sent, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sent == all_sent + all_sent / 216 * 8);
    INFO(plan);
    CHECK_THAT(plan, ContainsSubstring("listed are fetched, each of them once: 216 bytes"));
    CHECK_THAT(plan, ContainsSubstring(std::to_string(sent) + " in all"));
}

TEST_CASE("a list that is wrong on one rank throws on all", "[mpi]") {
    sequence<float> const whole(40, 40);
    auto const held = held_here(mpi::zigzag, 40);
    auto own = listed_keys(40, 40).of(held);
    bool const last = world_rank() == world_size() - 1;
    auto const own_q = rows_of(whole.q, held), own_k = rows_of(whole.k, held), own_v = rows_of(whole.v, held);
    tensor<float, 4> own_out({own_q.extent(0), own_q.extent(1), own_q.extent(2), own_v.extent(3)}, 7);
    auto const before = own_out.elements;
    auto const throws = [&](auto const& table, std::string const& sentence) {
        CHECK_THROWS_WITH(
            attend(mpi::ranks(MPI_COMM_WORLD, mpi::zigzag),
                   scaled_dot | rescore(score + param(table)[kv_idx]) | neighbors(own.view()) | softmax | weighted_sum,
                   own_q, own_k, own_v, own_out),
            ContainsSubstring("rank " + std::to_string(world_size() - 1) + ": " + sentence));
        CHECK(own_out.elements == before);
    };
    std::vector<float> const enough(40, 1.0f), few(last ? 3 : 40, 1.0f);
    throws(few, "");
    if (last) own.keys.back() = 40;
    throws(enough, "graph: edge ");
    if (last) own.offsets.pop_back();
    throws(enough, "graph: it has rows for ");
}
