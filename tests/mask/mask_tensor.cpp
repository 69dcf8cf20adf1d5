// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/packed_bits.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/gradient.hpp>
#include <fovea/mask/mask_tensor.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/rescore.hpp>
#include <fovea/testing/mask_laws.hpp>

#include "catch.hpp"

#include <cstdint>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

tensor<std::uint8_t, 4> random_mask(extents_t<4> const& extents) {
    testing::dice random(3);
    tensor<std::uint8_t, 4> mask(extents);
    for (auto& m : mask) m = random.chance(0.6);
    return mask;
}

/// A table of bool and the same as bits, one after another: about half of the pairs, and none in some tiles.
struct both_tables {
    tensor<bool, 3> bools;
    std::vector<std::uint8_t> bytes;

    explicit both_tables(extents_t<3> const& n) : bools(n), bytes(static_cast<std::size_t>((bools.size() + 7) / 8)) {
        testing::dice random(5);
        for (index_t i = 0; i < bools.size(); ++i) {
            index_t const query = i / n[2] % n[1], key = i % n[2];
            bool const tile = query / 40 % 2 == 0 || key / 100 % 2 == 1;
            bools.data()[i] = tile && random.chance(0.5);
            if (bools.data()[i]) bytes[static_cast<std::size_t>(i / 8)] |= static_cast<std::uint8_t>(1 << i % 8);
        }
    }
    view<bit const, 3> bits() const { return packed_bits(bytes, {bools.extent(0), bools.extent(1), bools.extent(2)}); }
};

}  // namespace

TEST_CASE("every axis may stand for all positions", "[mask]") {
    testing::lengths const n{6, 9, 2, 3};
    for (int axes = 0; axes < 16; ++axes) {
        extents_t<4> const extents{axes & 1 ? 1 : n.batches, axes & 2 ? 1 : n.heads, axes & 4 ? 1 : n.queries,
                                   axes & 8 ? 1 : n.keys};
        auto visible = random_mask(extents);
        auto const mask = mask_tensor(visible);
        testing::check_mask_laws(mask, n);
        testing::detail::for_each_pair(testing::detail::whole(n), [&](index_t b, index_t h, index_t i, index_t j) {
            auto const at = [&](int axis, index_t x) { return extents[static_cast<std::size_t>(axis)] == 1 ? 0 : x; };
            CHECK(evaluate(mask.predicate(), testing::detail::pair_at(b, h, i, j, n))
                  == (visible(at(0, b), at(1, h), at(2, i), at(3, j)) != 0));
        });
        tensor<float, 4> const query({n.batches, n.heads, n.queries, 4}, 1), key({n.batches, n.heads, n.keys, 4}, 1);
        tensor<float, 4> got({n.batches, n.heads, n.queries, 4}), expected(got.extents);
        auto const attention = dot | mask | softmax | weighted_sum;
        attend(attention, query, key, key, got);
        reference::attend(attention, query, key, key, expected);
        for (std::size_t i = 0; i < got.elements.size(); ++i) CHECK(got.elements[i] == Approx(expected.elements[i]));
    }
}

TEST_CASE("a table of bits is the same table of bool", "[mask]") {
    testing::dice random(6);
    for (auto const& n : {extents_t<3>{1, 1, 1}, {2, 1, 77}, {2, 6, 9}, {1, 130, 333}, {2, 41, 509}}) {
        CAPTURE(n);
        both_tables const table(n);
        if (n[2] < 100) testing::check_mask_laws(mask_tensor(table.bits()), testing::lengths{n[1], n[2], 2, 2});
        auto const query = testing::random_tensor<float, 4>(random, {2, 2, n[1], 8}),
                   key = testing::random_tensor<float, 4>(random, {2, 2, n[2], 8});
        tensor<float, 4> got(query.extents), expected(query.extents), d_got(key.extents), d_expected(key.extents);
        auto const spec = [](auto const& visible) { return dot | mask_tensor(visible) | softmax | weighted_sum; };
        attend(spec(table.bits()), query, key, key, got);
        attend(spec(table.bools), query, key, key, expected);
        CHECK(got.elements == expected.elements);
        gradient(spec(table.bits()), query, key, key, query, grad(key, d_got));
        gradient(spec(table.bools), query, key, key, query, grad(key, d_expected));
        CHECK(d_got.elements == d_expected.elements);
    }
}

TEST_CASE("bits are conditions wherever tables are read", "[mask]") {
    testing::dice random(8);
    index_t const queries = 50, keys = 70;
    both_tables const of_pairs({1, keys, queries}), of_keys({1, 2, keys});
    auto const query = testing::random_tensor<float, 4>(random, {1, 2, queries, 8}),
               key = testing::random_tensor<float, 4>(random, {1, 2, keys, 8});
    tensor<float, 4> got(query.extents), expected(query.extents);
    auto const turned = param(of_pairs.bits()), backwards = param(of_keys.bits());
    auto const spec = dot | rescore(select(turned(0, kv_idx, q_idx), score, 2 * score))
                    | where(backwards(0, head, kv_len - 1 - kv_idx) || !turned(0, 40, q_idx)) | softmax | weighted_sum;
    attend(spec, query, key, key, got);
    reference::attend(spec, query, key, key, expected);
    for (std::size_t i = 0; i < got.elements.size(); ++i)
        CHECK(got.elements[i] == Approx(expected.elements[i]).margin(1e-6));
}

TEST_CASE("a tensor may have fewer axes", "[mask]") {
    //! [example]
    tensor<std::uint8_t, 2> visible({3, 3}, 1);  // (query, key), for all heads
    visible(0, 2) = 0;
    tensor<float, 2> const x({3, 1}, 1);
    tensor<float, 2> result({3, 1}), shares({3, 3});
    attend(dot | mask_tensor(visible) | softmax | weighted_sum, x, result, weights(shares));
    // the first query shares its weight between two keys
    //! [example]
    CHECK(shares(0, 0) == Approx(0.5));
    CHECK(shares(0, 2) == 0);
    CHECK(shares(1, 2) == Approx(1.0 / 3));
}

TEST_CASE("a tensor that is too small is refused", "[mask]") {
    tensor<std::uint8_t, 2> const visible({3, 2}, 1);
    tensor<float, 2> const x({3, 1}, 1);
    tensor<float, 2> result({3, 1});
    CHECK_THROWS_AS(attend(dot | mask_tensor(visible) | softmax | weighted_sum, x, result), shape_error);
}
