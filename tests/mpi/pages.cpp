// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Caches in pages, or with scales by blocks, of which each rank has those of its own positions.
#include "mpi/sequence.hpp"

#include <fovea/core/paged.hpp>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

using namespace sequences;
using namespace fovea::placeholders;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr index_t slots = 8;

/// Rows in pages that lie backwards; of those from `used` on there are none.
struct cache {
    tensor<float, 4> pages;
    tensor<std::int32_t, 2> table;

    cache(tensor<float, 4> const& rows, mpi::runs const& held, std::vector<int> const& used)
        : pages({rows.extent(0) * rows.extent(2) / slots, rows.extent(1), slots, rows.extent(3)}),
          table({rows.extent(0), rows.extent(2) / slots}) {
        auto const all = static_cast<std::int32_t>(pages.extent(0));
        for (index_t b = 0; b < rows.extent(0); ++b)
            for (auto const& run : held)
                for (index_t n = 0; n < run.count; ++n) {
                    index_t const at = run.place + n;
                    auto const page = static_cast<std::int32_t>(b * table.extent(1) + at / slots);
                    bool const there = (run.first + n) / slots * slots < used[static_cast<std::size_t>(b)];
                    table(b, at / slots) = there ? all - 1 - page : -1;
                    for (index_t h = 0; h < rows.extent(1) && there; ++h)
                        for (index_t c = 0; c < rows.extent(3); ++c)
                            pages(all - 1 - page, h, at % slots, c) = rows(b, h, at, c);
                }
    }
    auto rows() const { return paged(pages, table); }
};

mpi::listed_t all_queries_on(int rank, index_t queries) {
    return mpi::listed(world_rank() == rank ? all_of(queries) : std::vector<index_t>());
}

}  // namespace

TEST_CASE("pages over ranks are read as rows, where keys travel and where queries do", "[mpi]") {
    std::vector<int> const lengths{150, 61};
    auto const spec = scaled_dot | key_lengths(lengths) | softmax | weighted_sum;
    for (index_t const queries : {3, 90}) {
        sequence<float> const whole(queries, 160);
        tensor<float, 4> expected(whole.result());
        attend(mpi::ranks(MPI_COMM_SELF).pieces(16), spec, whole.q, whole.k, whole.v, expected);
        auto const check_over = [&](auto const& layout) {
            INFO("rank " << world_rank() << " of " << world_size() << ", " << layout.text() << ", " << queries);
            auto const of_queries = all_queries_on(world_size() - 1, queries);
            auto const held = held_here(layout, 160);
            auto const own_q = rows_of(whole.q, of_queries.own), own_k = rows_of(whole.k, held),
                       own_v = rows_of(whole.v, held);
            cache const keys(own_k, held, lengths), values(own_v, held, lengths);
            tensor<float, 4> own_out({2, 4, own_q.extent(2), 11}, 7);
            attend(threads(2), mpi::ranks(MPI_COMM_WORLD, of_queries, layout).pieces(16), spec, own_q, keys.rows(),
                   values.rows(), own_out);
            CHECK(own_out.elements == rows_of(expected, of_queries.own).elements);
        };
        check_over(mpi::striped(16));
        check_over(mpi::striped(48));  // some ranks have no page
    }
}

TEST_CASE("a page that is not there and is seen throws on all ranks", "[mpi]") {
    std::vector<int> const lengths{160, 160}, less{150, 160};
    sequence<float> const whole(3, 160);
    auto const held = held_here(mpi::striped(16), 160);
    auto const of_queries = all_queries_on(0, 3);
    auto const own_q = rows_of(whole.q, of_queries.own), own_k = rows_of(whole.k, held), own_v = rows_of(whole.v, held);
    cache const keys(own_k, held, less), values(own_v, held, lengths);
    tensor<float, 4> own_out({2, 4, own_q.extent(2), 11}, 7);
    auto const before = own_out.elements;
    auto const call = [&](auto const& spec) {
        attend(mpi::ranks(MPI_COMM_WORLD, of_queries, mpi::striped(16)), spec, own_q, keys.rows(), values.rows(),
               own_out);
    };
    CHECK_THROWS_WITH(
        call(scaled_dot | key_lengths(lengths) | softmax | weighted_sum),
        ContainsSubstring("rank " + std::to_string(9 % world_size()) + ": key has no page for position "));
    CHECK(own_out.elements == before);
    CHECK_NOTHROW(call(scaled_dot | key_lengths(less) | softmax | weighted_sum));
}

TEST_CASE("keys with scales by blocks over ranks", "[mpi]") {
    testing::dice random{23};
    sequence<float> const whole(20, 96);
    auto const integers_of = [&](index_t features) {
        tensor<std::int8_t, 4> numbers({2, 2, 96, features});
        for (auto& x : numbers.elements) x = static_cast<std::int8_t>(random.between(-100, 100));
        return numbers;
    };
    auto const all_k = integers_of(16), all_v = integers_of(12);
    auto const scales = testing::random_tensor<float>(random, extents_t<4>{2, 2, 96, 4}, 0.02);
    constexpr auto spec = scaled_dot | causal_at_end | softmax | weighted_sum;
    tensor<float, 4> expected({2, 4, 20, 12});
    attend(spec, whole.q, block_scaled(all_k, scales), block_scaled(all_v, scales), expected);
    auto const held = held_here(mpi::contiguous, 96), queries = held_here(mpi::contiguous, 20);
    auto const own_q = rows_of(whole.q, queries), own_scales = rows_of(scales, held),
               wanted = rows_of(expected, queries);
    auto const own_k = rows_of(all_k, held), own_v = rows_of(all_v, held);
    tensor<float, 4> own_out(wanted.extents, 7);
    attend(mpi::ranks(MPI_COMM_WORLD).pieces(16), spec, own_q, block_scaled(own_k, own_scales),
           block_scaled(own_v, own_scales), own_out);
    for (std::size_t i = 0; i < own_out.elements.size(); ++i)
        CHECK(own_out.elements[i] == Approx(wanted.elements[i]).margin(1e-5));
}
