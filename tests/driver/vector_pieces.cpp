// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs of keys cut into pieces: each vector of queries meets every granule that it sees once.
#include <fovea/driver/dense/vector_pieces.hpp>

#include "catch.hpp"
#include "support/made_call.hpp"

#include <algorithm>

using namespace fovea;

namespace {
using one_register_tile = made::small_blocks<false, 2>;
struct two_register_tiles : one_register_tile {
    static constexpr index_t vectors = 2 * nv - 1;
};

/// Blocks of keys, as a tile is told of them.
template <class shape>
struct key_blocks {
    index_t keys;
    index_t first(index_t block) const { return block * shape::block_keys; }
    index_t last(index_t block) const { return std::min(first(block) + shape::block_keys, keys); }
};
}  // namespace

TEMPLATE_TEST_CASE("pieces of a run hold each pair of a vector and a granule that it sees once", "[driver]",
                   one_register_tile, two_register_tiles) {
    using shape = TestType;
    testing::dice random(5);
    constexpr index_t vectors = shape::vectors, queries = vectors * shape::lanes;
    plan::call_plan const how{plan::traversal::query_lanes, plan::blocking_of<shape>};
    index_t cut = 0;
    made::for_masks<shape>([&](made::pairs const& drawn) {
        made::pairs seen(queries, drawn.keys, queries, 0);
        for (index_t i = 0; i < queries; ++i)
            for (index_t j = 0; j < drawn.keys; ++j)
                seen.seen[static_cast<std::size_t>(i * drawn.keys + j)] = drawn(i % drawn.queries, j);
        made::arrays arrays(random, queries, seen.keys, 1, 1);
        made::masked_call const call(how, arrays.operands(), seen);
        driver::block_mask<shape> const mask(call);
        key_blocks<shape> const keys{seen.keys};
        auto const span = [&](driver::vector_run const& of) {
            return call.span({0, 0}, of.first * shape::lanes, of.last * shape::lanes);
        };
        for (index_t block = 0; block < mask.key_blocks(); ++block) {
            index_t const first = keys.first(block), last = keys.last(block);
            auto const coverage = mask.coverage(call.span({0, 0}, 0, queries), first, last);
            if (coverage.never()) continue;
            auto const runs = mask.runs(made::row_span{0, queries}, first, last, coverage);
            for (auto const run : runs) {
                driver::vector_pieces<shape> pieces;
                pieces.cut(vectors, mask, keys, {block, run, runs.mixed}, span);
                cut += pieces.size() > 1;
                bool right = pieces.size() <= 2 * vectors;
                for (index_t v = 0; v < vectors; ++v)
                    for (index_t g = run.first; g < run.last; ++g) {
                        auto const times = std::count_if(pieces.begin(), pieces.end(), [&](auto const& piece) {
                            return piece.vectors.first <= v && v < piece.vectors.last && piece.granules.first <= g
                                && g < piece.granules.last;
                        });
                        index_t const from = first + g * shape::granule;
                        bool const sees = seen.any(v * shape::lanes, (v + 1) * shape::lanes, from,
                                                   std::min(from + shape::granule, last));
                        right = right && times <= 1 && (times == 1 || !sees);
                    }
                for (auto const& piece : pieces)
                    right = right && run.first <= piece.granules.first && piece.granules.first < piece.granules.last
                         && piece.granules.last <= run.last && piece.vectors.first < piece.vectors.last;
                CHECK(right);
            }
        }
    });
    CHECK(cut > 0);
}

TEST_CASE("a run that is taken whole is one piece", "[driver]") {
    driver::vector_pieces<one_register_tile> pieces;
    pieces.take_whole(3, {1, 5});
    REQUIRE(pieces.size() == 1);
    auto const& [vectors, granules] = *pieces.begin();
    CHECK((vectors.first == 0 && vectors.last == 3 && granules.first == 1 && granules.last == 5));
}
