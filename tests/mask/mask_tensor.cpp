// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/half.hpp>
#include <fovea/core/packed_bits.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/gradient.hpp>
#include <fovea/mask/mask_tensor.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/bias.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/rescore.hpp>
#include <fovea/testing/mask_laws.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"
#include "support/architectures.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
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

namespace {

/// Tables of pairs of several types, of which some are the same for all heads, or all keys.
struct pair_tables {
    tensor<float16, 3> halves;
    tensor<bfloat16, 2> shorts;
    tensor<std::int64_t, 2> kinds;
    tensor<bool, 2> seen;
    tensor<float, 1> of_kind{{5}};
    view<float16 const, 3> half;

    pair_tables(testing::dice& random, index_t heads, index_t queries, index_t keys, bool shared, bool of_queries)
        : halves({heads, queries, keys}),
          shorts({queries, of_queries ? 1 : keys}),
          kinds({queries, keys}),
          seen({queries, keys}),
          half{halves.data(), halves.extents, {shared ? 0 : queries * keys, keys, 1}} {
        for (auto& x : halves)
            x = static_cast<float16>(random.chance(0.2) ? -std::numeric_limits<float>::infinity()
                                                        : static_cast<float>(random.real(-1, 1)));
        for (auto& x : shorts) x = static_cast<bfloat16>(static_cast<float>(random.real(-1, 1)));
        for (auto& x : kinds) x = random.between(0, 4);
        for (index_t i = 0; i < queries; ++i)
            for (index_t k = 0; k < keys; ++k) seen(i, k) = i % 11 != 5 && random.chance(0.7);
        for (auto& x : of_kind) x = static_cast<float>(random.real(-1, 1));
    }
    auto spec() const {
        return dot | bias(half) | bias(shorts) | rescore(score + param(of_kind)[param(kinds)(q_idx, kv_idx)])
             | mask_tensor(seen) | softmax | weighted_sum;
    }
    double added(index_t h, index_t i, index_t k) const {
        return static_cast<double>(static_cast<float>(half(h, i, k)))
             + static_cast<double>(static_cast<float>(shorts(i, k % shorts.extent(1))))
             + static_cast<double>(of_kind(kinds(i, k)));
    }
};

/// The greatest error of a call of `group` heads for each head of keys, against loops.
template <class Arch>
double worst_error(pair_tables const& tables, testing::dice& random, index_t group) {
    auto const [heads, queries, keys] = tables.half.extents;
    constexpr index_t features = 3;
    auto const q = testing::random_tensor<float, 4>(random, {1, heads, queries, features}),
               k = testing::random_tensor<float, 4>(random, {1, heads / group, keys, features}),
               v = testing::random_tensor<float, 4>(random, k.extents);
    tensor<float, 4> got(q.extents);
    workspace scratch;
    attend_on<Arch>(serial, scratch, tables.spec(), q, k, v, got);
    double worst = 0;
    for (index_t h = 0; h < heads; ++h)
        for (index_t i = 0; i < queries; ++i) {
            double sum = 0, sums[features] = {};
            for (index_t j = 0; j < keys; ++j) {
                if (!tables.seen(i, j)) continue;
                double s = tables.added(h, i, j);
                for (index_t c = 0; c < features; ++c)
                    s += static_cast<double>(q(0, h, i, c)) * static_cast<double>(k(0, h / group, j, c));
                sum += std::exp(s);
                for (index_t c = 0; c < features; ++c)
                    sums[c] += std::exp(s) * static_cast<double>(v(0, h / group, j, c));
            }
            for (index_t c = 0; c < features; ++c) {
                double const off = std::abs(static_cast<double>(got(0, h, i, c)) - (sum == 0 ? 0 : sums[c] / sum));
                worst = off <= worst ? worst : off;  // a NaN is the worst
            }
        }
    return worst;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("tables of pairs may have any element and any axes, at every size", "[mask]", lane_widths) {
    testing::dice random(5);
    for (index_t queries = 1; queries <= 70; queries += queries < 36 ? 1 : 17)
        for (index_t keys = 1 + queries % 7; keys <= 150; keys += 11) {
            bool const shared = queries % 3 == 0, of_queries = keys % 4 == 0;
            pair_tables const tables(random, 2, queries, keys, shared, of_queries);
            CAPTURE(queries, keys, shared, of_queries);
            CHECK(worst_error<TestType>(tables, random, 1 + keys % 2) < 1e-5);
        }
}
