// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: catalogue change
// Gradients of few heads with many queries, whose rows are split among tasks: what the definition says, with the same
// bits in any number of threads.
#include <fovea/driver/dense/backward/gradient_call.hpp>
#include <fovea/driver/dense/backward/split_query_sums.hpp>

#include "catalogue/catalogue.hpp"
#include "catch.hpp"
#include "support/seeds.hpp"

using namespace fovea;

TEST_CASE("rows are split where key heads are few and queries many", "[driver]") {
    for (index_t heads : {1, 2, 3, 5, 8, 100})
        for (index_t queries : {0, 1, 511, 1024, 5000, 100000}) {
            auto const splits = plan::query_splits(heads, queries);
            CHECK((splits >= 1 && (splits == 1 || queries / splits >= 512)));
            CHECK((heads < 8 || splits == 1));
        }
}

TEST_CASE("split rows have the gradients of the definition", "[driver]") {
    INFO(seeds::how_to_repeat());
    workspace scratch;
    int tried = 0;
    for (auto const& of : catalogue::all())
        for (auto const& computed : of.gradients) {
            auto const& limits = of.shape.of_sizes;
            bool const dense = of.by.has_weights && !limits.lists_keys && !computed.types.ragged;
            if (!dense || limits.square || limits.most_queries > 0) continue;
            auto from = seeds::dice_for(std::string(of.name) + computed.text);
            catalogue::drawn_sizes n{1, 1, 2, from.between(1025, 1700), from.between(5, 40), 6, 5};
            if (limits.heads > 0) n.key_heads = limits.key_heads, n.group = limits.heads / limits.key_heads;
            if (limits.features > 0) n.features = limits.features, n.value_features = limits.value_features;
            n.features = std::max(n.features, limits.least_features);
            REQUIRE(plan::query_splits(n.key_heads, n.queries) > 1);
            catalogue::drawn_call call(from, computed.types, of.shape, n);
            INFO(of.name << ": " << computed.text << "\n" << call.text());
            CHECK(catalogue::broken_law(of.by, computed, call, from, scratch).empty());
            ++tried;
        }
    CHECK(tried >= 20);
}
