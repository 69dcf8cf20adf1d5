// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums over ranges of features of operands in fewer bits, in pages, loaded, or listed.
#include <fovea/fovea.hpp>

#include "support/fused.hpp"
#include "support/node_features.hpp"
#include "support/random_graph.hpp"

#include <cstdint>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

template <class To>
tensor<To, 4> stored_as(tensor<float, 4> const& x) {
    tensor<To, 4> result(x.extents);
    for (std::size_t i = 0; i < x.elements.size(); ++i) result.elements[i] = static_cast<To>(x.elements[i]);
    return result;
}

/// Two products over ranges, and one, for many queries and for one.
template <class Check>
void for_specs(Check const& check) {
    for (index_t const queries : {1, 37}) {
        check(queries, compare(sum(q * k, features(5, 22)) * 0.25) | softmax | weighted_sum);
        check(queries, compare(sum(q * k, features(0, 3)) + sum(q * k, features(3, 27)) * 0.25) | causal_at_end
                           | softmax | weighted_sum);
        check(queries, compare(-sum(abs(q - k), features(1, 4))) | softmax | weighted_sum);
    }
}

/// Against the definition, of operands stored as they are.
template <class Element, class Arch = arch::best>
void check_stored(double magnitude, testing::tolerance const& allowed) {
    testing::dice random(11);
    for_specs([&](index_t queries, auto const& spec) {
        auto const query = stored_as<Element>(testing::random_tensor<float, 4>(random, {2, 4, queries, 27}, magnitude)),
                   key = stored_as<Element>(testing::random_tensor<float, 4>(random, {2, 2, 45, 27}, magnitude)),
                   value = stored_as<Element>(testing::random_tensor<float, 4>(random, {2, 2, 45, 19}, magnitude));
        tensor<float, 4> got({2, 4, queries, 19}), expected(got.extents);
        workspace scratch;
        attend_on<Arch>(serial, scratch, spec, query, key, value, got);
        reference::attend(spec, query, key, value, expected);
        testing::check_close<float, float>("result", expected.elements, got.elements, allowed);
    });
}

}  // namespace

TEST_CASE("ranges of features of operands stored in fewer bits", "[driver]") {
    check_stored<bfloat16>(2, {4e-6, 1e-5});
    check_stored<float16>(2, {4e-6, 1e-5});
    check_stored<std::int8_t>(4, {4e-6, 1e-5});
    on_emulated<arch::emulated<64, 32>>(
        [](auto other) { check_stored<bfloat16, decltype(other)>(2, {4e-6, 1e-5}); });  // pairs from odd features on
}

TEST_CASE("ranges of features of keys in pages", "[driver]") {
    testing::dice random(13);
    for_specs([&](index_t queries, auto const& spec) {
        auto const query = testing::random_tensor<float, 4>(random, {1, 2, queries, 27}),
                   pages = testing::random_tensor<float, 4>(random, {6, 1, 8, 27}),
                   values = testing::random_tensor<float, 4>(random, {6, 1, 8, 16});
        tensor<std::int32_t, 2> table({1, 6});
        for (index_t p = 0; p < 6; ++p) table(0, p) = static_cast<std::int32_t>((p * 5 + 1) % 6);
        tensor<float, 4> got({1, 2, queries, 16}), expected(got.extents);
        attend(spec, query, paged(pages, table), paged(values, table), got);
        reference::attend(spec, query, paged(pages, table), paged(values, table), expected);
        testing::check_close<float, float>("result", expected.elements, got.elements, {4e-6, 1e-5});
    });
}

TEST_CASE("ranges of features of keys with a scale for each block", "[driver]") {
    testing::dice random(17);
    for_specs([&](index_t queries, auto const& spec) {
        auto const query = testing::random_tensor<float, 4>(random, {1, 2, queries, 27});
        auto const stored = stored_as<std::int8_t>(testing::random_tensor<float, 4>(random, {1, 1, 45, 27}, 100));
        auto const scales = testing::random_tensor<float, 4>(random, {1, 1, 45, 3}, 0.01);
        auto const values = testing::random_tensor<float, 4>(random, {1, 1, 45, 16});
        tensor<float, 4> got({1, 2, queries, 16}), expected(got.extents);
        attend(spec, query, block_scaled(stored, scales), values, got);
        reference::attend(spec, query, block_scaled(stored, scales), values, expected);
        testing::check_close<float, float>("result", expected.elements, got.elements, {4e-6, 1e-5});
    });
}

TEST_CASE("ranges of features and rows of tables of listed keys", "[driver]") {
    testing::dice random(19);
    auto const g = random_graph(nodes, nodes, 300);
    auto const places = testing::random_tensor<float>(random, std::array<index_t, 2>{nodes, 3});
    auto const distance = sum(square(param(places)[q_idx] - param(places)[kv_idx]));
    for (auto const& [heads, width] : {std::pair<index_t, index_t>{8, 8}, {3, 8}, {8, 4}, {1, 27}, {2, 4}}) {
        node_features<float> const n(heads, width, 8);
        auto const check = [&](auto const& spec) { n.check<arch::best>(spec | neighbors(g) | softmax | weighted_sum); };
        check(compare(sum(q * k, features(1, 4)) * 0.5 + sum(q * k)));
        check(compare(sum(abs(q - k), features(0, 3)) - sum(q, features(3, 4)) * sum(k, features(0, 1))));
        check(compare(sum(q * k) - distance));
        check(compare(sum(square(param(places)[q_idx] - k), features(1, 4)) + sum(param(places)[kv_idx])));
    }
}
