// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Caches for C beside those of C++: the same steps give the same pages, byte for byte, the same batches and sentences.
#include <fovea/bindings/cache.hpp>
#include <fovea/kv_cache.hpp>
#include <fovea/project/rotary.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

using namespace fovea;

namespace {

constexpr kv_sizes sizes{.heads = 2, .key_features = 64, .value_features = 5, .pages = 12, .page_size = 4};
using cache_of_layer = kv_cache<q8_0, float16>;

/// The sentence that a step is refused with; empty where it is not.
template <class Step>
std::string sentence_of(Step const& step) {
    try {
        step();
    } catch (shape_error const& error) {
        return error.what();
    }
    return "";
}

/// A step of both, where each layer of C++ takes it; otherwise the sentence of the first one that does not.
template <class OfC, class OfLayer>
void take(std::vector<cache_of_layer>& layers, bool refused, OfC const& of_c, OfLayer const& of_layer) {
    auto const sentence = sentence_of(of_c);
    CHECK(sentence.empty() != refused);
    if (!refused)
        for (auto& each : layers) of_layer(each);
}

void check_same(bindings::layered_cache& of_c, std::vector<cache_of_layer> const& layers,
                std::vector<std::int64_t> const& used) {
    for (index_t layer = 0; layer < std::ssize(layers); ++layer) {
        auto const& own = layers[static_cast<std::size_t>(layer)];
        REQUIRE(of_c.free_pages(layer) == own.free_pages());
        auto const got = of_c.batch(layer, used);
        auto const expected = own.batch(std::vector<index_t>(used.begin(), used.end()));
        auto const table = expected.values().table;
        REQUIRE(got.pages == table.extent(1));
        REQUIRE(std::equal(table.data, table.data + table.size(), got.page_table));
        REQUIRE(std::equal(expected.lengths().begin(), expected.lengths().end(), got.lengths));
        auto const positions = expected.positions();
        REQUIRE(std::equal(positions.data, positions.data + positions.size(), got.positions));
        auto const same_bytes = [](auto const& pages, void const* data) {
            return std::memcmp(pages.data, data, static_cast<std::size_t>(pages.size()) * sizeof *pages.data) == 0;
        };
        REQUIRE(same_bytes(own.key_pages(), got.keys));
        REQUIRE(same_bytes(own.value_pages(), got.values));
    }
}

}  // namespace

TEST_CASE("a cache for C holds in each layer what one of C++ does", "[bindings]") {
    for (unsigned seed = 1; seed <= 4; ++seed) {
        testing::dice random(seed);
        fovea_cache_sizes const of_layers{
            3, sizes.heads, sizes.key_features, sizes.value_features, sizes.pages, sizes.page_size, "q8_0", "f16"};
        bindings::cache_layout const layout(of_layers);
        std::vector<std::byte> memory(static_cast<std::size_t>(3 * (layout.key_bytes + layout.value_bytes)));
        std::vector<fovea_cache_memory> given;
        for (auto* at = memory.data(); given.size() < 3; at += layout.key_bytes + layout.value_bytes)
            given.push_back({at, at + layout.key_bytes, layout.key_bytes, layout.value_bytes});
        bindings::layered_cache of_c(of_layers, seed % 2 == 0 ? given.data() : nullptr);
        std::vector<cache_of_layer> layers;
        for (int n = 0; n < 3; ++n) layers.emplace_back(sizes);
        std::vector<std::int64_t> used{};
        for (int step = 0; step < 300; ++step) {
            index_t const what = random.between(0, 9), s = random.between(-1, 5);
            bool const is_there = std::ranges::count(used, s) > 0;
            index_t shortest = is_there ? sizes.pages * sizes.page_size : 0;
            for (auto const& each : layers)
                if (is_there) shortest = std::min(shortest, each.length(s));
            index_t const first = random.between(-1, shortest + 1), last = random.between(-1, shortest + 1);
            if (what == 0 || (what == 1 && is_there)) {
                index_t const number = what == 0 ? of_c.add() : of_c.fork(s);
                for (auto& each : layers) REQUIRE((what == 0 ? each.add() : each.fork(s)) == number);
                used.push_back(number);
            } else if (what == 2) {
                take(layers, !is_there, [&] { of_c.remove(s); }, [&](auto& each) { each.remove(s); });
                std::erase(used, s);
            } else if (what == 3) {
                take(
                    layers, !is_there || first < 0 || first > shortest, [&] { of_c.truncate(s, first); },
                    [&](auto& each) { each.truncate(s, first); });
            } else if (what == 4) {
                take(
                    layers, !is_there || first < 0 || last > shortest, [&] { of_c.evict(s, first, last); },
                    [&](auto& each) { each.evict(s, first, last); });
            } else {
                index_t const layer = random.between(0, 2), count = random.between(0, 7);
                auto const keys = testing::random_tensor<float, 4>(random, {1, 2, count, 64}),
                           values = testing::random_tensor<float, 4>(random, {1, 2, count, 5});
                auto& own = layers[static_cast<std::size_t>(layer)];
                bool const rotated = random.between(0, 1) == 1;
                index_t const turned = random.between(0, 65);
                fovea_rotary const how{turned, 1, 500, 4, 0, nullptr, nullptr};
                CHECK(sentence_of([&] { of_c.append(layer, s, keys.view(), values.view(), rotated ? &how : nullptr); })
                      == sentence_of([&] {
                             if (!rotated) return own.append(s, keys.view(), values.view());
                             own.append(s, keys.view(), values.view(),
                                        rotary.features(turned).interleaved().base(500).interpolated(4));
                         }));
            }
            check_same(of_c, layers, used);
        }
    }
}
