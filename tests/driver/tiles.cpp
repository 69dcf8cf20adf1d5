// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which pairs are looked at: empty panels are never visited, full ones are not masked.
#include <fovea/fovea.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

#include <numeric>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

using tile = plan::query_lanes_blocking<float, arch::best>;     // with a query in each lane
using key_lanes = plan::key_lanes_blocking<float, arch::best>;  // with a key in each lane
constexpr index_t features = 8;

/// The panels that a call on n queries and keys of one head visits.
template <class Spec>
panel_count visited(Spec const& spec, index_t queries, index_t keys, int workers = 1) {
    testing::dice random(2);
    auto const x = testing::random_tensor<float>(random, std::array<index_t, 2>{queries, features});
    auto const y = testing::random_tensor<float>(random, std::array<index_t, 2>{keys, features});
    tensor<float, 2> out({queries, features});
    workspace scratch;
    attend(threads(workers), scratch, spec, x, y, y, out);
    return scratch.tiles();
}

/// What a tile of queries against a panel of keys is, pair by pair; where keys are padded, a panel that ends behind the
/// last key is mixed.
template <class Tile, class Sees>
panel_count expected_of(Sees const& sees, index_t queries, index_t keys) {
    panel_count all;
    for (index_t i = 0; i < queries; i += Tile::rows)
        for (index_t j = 0; j < keys; j += Tile::panel) {
            index_t seen = 0, pairs = 0;
            for (index_t r = i; r < std::min<index_t>(i + Tile::rows, queries); ++r)
                for (index_t c = j; c < std::min(j + Tile::panel, keys); ++c, ++pairs) seen += sees(r, c) ? 1 : 0;
            if (seen == 0) continue;
            ++(seen == pairs && (!Tile::pads_keys || j + Tile::panel <= keys) ? all.full : all.mixed);
        }
    return all;
}

template <class Sees>
panel_count expected(Sees const& sees, index_t queries, index_t keys) {
    return tile::suits(queries, features) ? expected_of<tile>(sees, queries, keys)
                                          : expected_of<key_lanes>(sees, queries, keys);
}

void check_same(panel_count const& got, panel_count const& wanted) {
    CHECK(got.full == wanted.full);
    CHECK(got.mixed == wanted.mixed);
}

}  // namespace

TEST_CASE("without a mask every panel is full", "[driver]") {
    constexpr auto all = scaled_dot | softmax | weighted_sum;
    auto const sees = [](index_t, index_t) { return true; };
    check_same(visited(all, 200, 4 * tile::block_keys), expected(sees, 200, 4 * tile::block_keys));
    check_same(visited(all, 200, 301), expected(sees, 200, 301));
    CHECK(visited(all, 200, 301).mixed == 0);
}

TEST_CASE("causal visits what lies on the diagonal and before it", "[driver]") {
    constexpr auto spec = scaled_dot | causal | softmax | weighted_sum;
    auto const sees = [](index_t i, index_t j) { return j <= i; };
    for (index_t n : {1, 64, 515, 1024}) {
        CAPTURE(n);
        check_same(visited(spec, n, n), expected(sees, n, n));
        check_same(visited(spec, n, n, 3), expected(sees, n, n));
    }
    auto const all = visited(spec, 4096, 4096);
    double const square = static_cast<double>((4096 + tile::rows - 1) / tile::rows) * (4096. / tile::panel);
    CHECK(static_cast<double>(all.full + all.mixed) < 0.51 * square);
    CHECK(static_cast<double>(all.mixed) < 0.02 * square);
}

TEST_CASE("a window visits a band", "[driver]") {
    auto const spec = scaled_dot | sliding_window(70, 0) | softmax | weighted_sum;
    auto const sees = [](index_t i, index_t j) { return j <= i && i - j <= 70; };
    check_same(visited(spec, 700, 700), expected(sees, 700, 700));
    for (index_t n : {1024, 4096}) {  // the rows of a tile see 70 + rows keys, in so many panels at the most
        auto const band = visited(spec, n, n);
        CHECK(band.full + band.mixed <= (n / tile::rows + 1) * ((70 + tile::rows) / tile::panel + 2));
    }
}

TEST_CASE("a document sees no other", "[driver]") {
    auto const check = [](index_t length, auto const& look) {
        std::vector<int> document;
        for (index_t i = 0; i < 4 * length; ++i) document.push_back(static_cast<int>(i / length));
        auto const spec =
            scaled_dot | where(param(document)[q_idx] == param(document)[kv_idx]) | softmax | weighted_sum;
        auto const sees = [&](index_t i, index_t j) { return i / length == j / length; };
        look(visited(spec, 4 * length, 4 * length), expected(sees, 4 * length, 4 * length));
    };
    check(std::lcm(tile::rows, 2 * tile::block_keys), check_same);
    // Where tiles lie across two documents they are not searched each time: they visit more, but no third document.
    check(2 * tile::block_keys, [](panel_count const& seen, panel_count const& wanted) {
        CHECK(seen.full + seen.mixed >= wanted.full + wanted.mixed);
        CHECK(seen.full + seen.mixed <= 2 * (wanted.full + wanted.mixed));
    });
}

TEST_CASE("a mask that shows nothing costs nothing", "[driver]") {
    check_same(visited(scaled_dot | where(kv_idx < 0) | softmax | weighted_sum, 300, 300), {});
    check_same(visited(scaled_dot | causal | where(q_idx < kv_len - 600) | softmax | weighted_sum, 300, 300), {});
    check_same(visited(scaled_dot | softmax | weighted_sum, 300, 0), {});
}

TEST_CASE("whole rows visit no more than blocks do", "[driver]") {
    testing::dice random(2);
    auto const x = testing::random_tensor<float>(random, std::array<index_t, 2>{515, 8});
    tensor<float, 2> y({515, 8}), all({515, 515});
    workspace scratch;
    attend(scratch, scaled_dot | causal | softmax | weighted_sum, x, x, x, y, weights(all));
    check_same(scratch.tiles(), expected_of<key_lanes>([](index_t i, index_t j) { return j <= i; }, 515, 515));
}
