// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: alone change
// bfloat16 attention by the products of a matrix unit, or of its emulation: every rest of queries, keys and features.
#include <fovea/core/paged.hpp>
#include <fovea/fovea.hpp>
#include <fovea/testing/random.hpp>
#include <fovea/testing/tolerance.hpp>

#include "catch.hpp"
#include "support/matrix_unit.hpp"
#include "support/matrix_unit_rows.hpp"
#include "support/same_bits.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

using sizes = unit_sizes;
using bf16_rows = rows_in_memory<bfloat16>;

template <class Spec, class K, class V>
plan::call_plan plan_of(Spec const&, sizes const& s, K const&, V const&, index_t per_run) {
    using bound = driver::operands<bfloat16, K, V, bfloat16, std::tuple<>>;
    return plan::make_plan<float, with_matrix_unit, Spec, bound>(
        {s.queries, s.group, s.keys, s.features, s.value_features, per_run, per_run});
}

/// A result against the definition: weights and results may be rounded to bfloat16.
template <class Spec>
void check_result(Spec const& spec, view<bfloat16 const, 4> const& q, view<bfloat16 const, 4> const& k,
                  view<bfloat16 const, 4> const& v, tensor<bfloat16, 4> const& got) {
    tensor<float, 4> expected(got.extents), room(got.extents);
    reference::attend(spec, widened(q), widened(k), widened(v), expected);
    reference::attend(spec, widened(q), widened(k), widened(v, true), room);
    bool close = true;
    for (std::size_t i = 0; i < expected.elements.size(); ++i) {
        float const off = std::abs(static_cast<float>(got.elements[i]) - expected.elements[i]);
        close = close && off <= 1.01f * (0x1p-8f * (room.elements[i] + std::abs(expected.elements[i])) + 1e-5f);
    }
    CHECK(close);
}

/// Rows of any distance, in this many threads: the definition, and the same bits.
template <class Spec>
void check(Spec const& spec, sizes const& s, index_t gap = 0) {
    CAPTURE(s.queries, s.keys, s.features, s.value_features, s.heads, s.group, gap);
    testing::dice random(static_cast<unsigned>(31 * s.queries + s.keys));
    bf16_rows const q(random, s.heads * s.group, s.queries, s.features, gap),
        k(random, s.heads, s.keys, s.features, gap), v(random, s.heads, s.keys, s.value_features, gap);
    tensor<bfloat16, 4> got({1, s.heads * s.group, s.queries, s.value_features});
    workspace scratch;
    attend_on<with_matrix_unit>(serial, scratch, spec, q.rows, k.rows, v.rows, got);
    check_result(spec, q.rows, k.rows, v.rows, got);
    for (int n : {2, 5}) {
        tensor<bfloat16, 4> threaded(got.extents);
        attend_on<with_matrix_unit>(threads(n), scratch, spec, q.rows, k.rows, v.rows, threaded);
        CHECK(same_bits(got, threaded));
    }
}

static_assert(kernel::lane_product<kernel::matrix_unit_product<float, with_matrix_unit>>);
static_assert(kernel::lane_product<driver::products<float, arch::best>>);

auto const plain = scaled_dot | softmax | weighted_sum;
auto const at_end = scaled_dot | causal_at_end | softmax | weighted_sum;

}  // namespace

TEST_CASE("the plan takes the matrix unit for queries in lanes whose operands are all bfloat16", "[driver]") {
    view<bfloat16 const, 4> const rows;
    auto const planned = [&](sizes const& s) { return plan_of(plain, s, rows, rows, s.keys); };
    auto const many = planned({100, 200, 64, 40});
    CHECK((many.by == plan::traversal::query_lanes && many.matrix_unit));
    CHECK((many.keys == plan::reading::in_place && many.values == plan::reading::packed));
    CHECK(planned({100, 200, 40, 40}).keys == plan::reading::copied);
    CHECK_FALSE(planned({1, 200, 64, 40}).matrix_unit);
    CHECK(planned({2, 200, 64, 40, 1, 16}).tile_heads == 16);
    // Pages of whole granules are read in place.
    CHECK(plan_of(plain, {100, 200, 64, 40}, rows, rows, 64).keys == plan::reading::in_place);
    CHECK(plan_of(plain, {100, 200, 64, 40}, rows, rows, 48).keys == plan::reading::copied);
    auto const squared = compare(sum(square(q) * k)) | softmax | weighted_sum;
    CHECK_FALSE(plan_of(squared, {100, 200, 64, 40}, rows, rows, 200).matrix_unit);
    using in_float = driver::operands<bfloat16, std::remove_const_t<decltype(rows)>,
                                      std::remove_const_t<decltype(rows)>, float, std::tuple<>>;
    CHECK(
        plan::make_plan<float, with_matrix_unit, std::remove_const_t<decltype(plain)>, in_float>({100, 1, 200, 64, 40})
            .matrix_unit);
}

TEST_CASE("explain names the matrix unit", "[driver]") {
    tensor<bfloat16, 4> x({1, 1, 64, 64}), result(x.extents);
    auto const text = explain<with_matrix_unit>(plain, x, x, x, result);
    CHECK(text.find("kernel/product/amx_product.hpp") != std::string::npos);
    CHECK(text.find("tiles of 32 queries x 32 keys, a query in each lane, products by the matrix unit\n")
          != std::string::npos);
}

TEST_CASE("the matrix unit computes attention with any number of queries, keys and features", "[driver]") {
    for (index_t n : {12, 16, 17, 31, 32, 33, 64, 65, 300}) check(plain, {n, 70, 64, 32});
    for (index_t n : {1, 2, 15, 16, 17, 31, 32, 33, 63, 127, 128, 160, 255, 256, 257, 300})
        check(plain, {40, n, 32, 16});
    for (index_t n = 1; n <= 33; ++n) check(plain, {37, 41, n, 34 - n});
    check(plain, {33, 150, 128, 128});
    check(plain, {20, 70, 96, 80}, 5);
    check(plain, {70, 20, 33, 65}, 3);
    check(plain, {20, 0, 32, 16});
    check(dot | softmax | weighted_sum, {20, 17, 0, 16});
    check(plain, {20, 17, 32, 0});
}

TEST_CASE("keys at cache lines are read in place, others are copied, with the same bits", "[driver]") {
    testing::dice random(4);
    extents_t<4> const n{1, 2, 97, 64};
    std::vector<bfloat16> memory(97 * 2 * 64 + 64);
    for (auto& x : memory) x = bfloat16(static_cast<float>(random.real(-2, 2)));
    std::vector<bfloat16> moved(memory.size());
    auto const first = [](std::vector<bfloat16>& of) {  // the first cache line
        auto const past = reinterpret_cast<std::uintptr_t>(of.data()) % cache_line;
        return of.data() + (past == 0 ? 0 : (cache_line - past) / sizeof(bfloat16));
    };
    view<bfloat16 const, 4> const at_lines(first(memory), n), beside(first(moved) + 8, n);
    std::copy_n(at_lines.data, at_lines.size(), first(moved) + 8);
    CHECK(row_alignment(at_lines) == cache_line);
    CHECK(row_alignment(beside) == 16);
    CHECK(row_alignment(view<bfloat16 const, 4>(at_lines.data, {1, 2, 97, 60})) == 8);
    auto const spec = scaled_dot | causal | softmax | weighted_sum;
    tensor<bfloat16, 4> in_place(n), copied(n);
    workspace scratch;
    attend_on<with_matrix_unit>(serial, scratch, spec, at_lines, at_lines, at_lines, in_place);
    attend_on<with_matrix_unit>(serial, scratch, spec, at_lines, beside, at_lines, copied);
    CHECK(same_bits(in_place, copied));
}

TEST_CASE("the matrix unit computes attention of heads that share keys", "[driver]") {
    for (index_t group : {2, 5, 16}) {
        check(plain, {3, 140, 64, 32, 2, group}, 2);
        check(plain, {50, 140, 40, 24, 2, group});
    }
}

TEST_CASE("the matrix unit computes attention under masks", "[driver]") {
    for (index_t n : {40, 129, 300}) {
        check(at_end, {n, n, 32, 32});
        check(at_end, {n, n + 45, 48, 20}, 1);
    }
    auto const window = scaled_dot | where(abs(q_idx - kv_idx) < 19 && kv_idx % 50 < 40) | softmax | weighted_sum;
    check(window, {230, 290, 64, 33});
}

TEST_CASE("the matrix unit computes what a score makes of its product", "[driver]") {
    auto const capped = scaled_dot | rescore(5 * tanh(score / 5) - 0.1f * abs(q_idx - kv_idx)) | causal_at_end
                      | softmax_plus_one | weighted_sum;
    check(capped, {70, 140, 64, 64});
}

TEST_CASE("weights keep the precision of results in float32", "[driver]") {
    for (sizes const s : {sizes{70, 300, 64, 40}, sizes{37, 41, 19, 33}, sizes{16, 15, 32, 16}}) {
        testing::dice random(18);
        bf16_rows const query(random, 2, s.queries, s.features, 0), key(random, 2, s.keys, s.features, 0),
            value(random, 2, s.keys, s.value_features, 0);
        tensor<float, 4> got({1, 2, s.queries, s.value_features}), expected(got.extents);
        workspace scratch;
        attend_on<with_matrix_unit>(serial, scratch, at_end, query.rows, key.rows, value.rows, got);
        reference::attend(at_end, widened(query.rows), widened(key.rows), widened(value.rows), expected);
        testing::check_close<float, float>("result", expected.elements, got.elements, {4e-6, 1e-5});
    }
}

TEST_CASE("a tile has the same bits beside others as alone", "[driver]") {
    testing::dice random(21);
    bf16_rows const query(random, 3, 310, 64, 0), key(random, 3, 600, 64, 0), value(random, 3, 600, 40, 0);
    value.rows(0, 1, 17, 3) = bfloat16(std::numeric_limits<float>::infinity());
    tensor<bool, 2> seen({310, 600});
    for (auto& x : seen) x = random.chance(0.9);
    for (index_t n = 100; n < 131; ++n)
        for (index_t j = 20; j < 400; ++j) seen(n, j) = false;
    auto const bits_of = [](float x) { return std::bit_cast<std::uint32_t>(x); };
    auto const check_tiles = [&](auto const& spec_of) {
        tensor<float, 4> all({1, 3, 310, 40});
        workspace scratch;
        attend_on<with_matrix_unit>(serial, scratch, spec_of(seen.view()), query.rows, key.rows, value.rows, all);
        bool same = true;
        for (index_t first = 0; first < 310; first += 32) {
            index_t const count = std::min<index_t>(32, 310 - first);
            tensor<float, 4> tile({1, 3, count, 40});
            auto rows = query.rows;
            rows.data = rows.place(0, 0, first, 0);
            rows.extents[2] = count;
            view<bool const, 2> const of_rows(&seen(first, 0), {count, 600});
            attend_on<with_matrix_unit>(serial, scratch, spec_of(of_rows), rows, key.rows, value.rows, tile);
            for (index_t h = 0; h < 3; ++h)
                for (index_t n = 0; n < count; ++n)
                    for (index_t c = 0; c < 40; ++c)
                        same = same && bits_of(all(0, h, first + n, c)) == bits_of(tile(0, h, n, c));
        }
        CHECK(same);
    };
    check_tiles([](auto const&) { return plain; });
    check_tiles(
        [](auto const& pairs) { return scaled_dot | where(param(pairs)[q_idx][kv_idx]) | softmax | weighted_sum; });
    check_tiles([](auto const&) {
        return scaled_dot | rescore(3 * tanh(score / 3)) | weigh(sigmoid(score - 2)) | weighted_sum;
    });
}

TEST_CASE("the matrix unit reads pages", "[driver]") {
    testing::dice random(9);
    for (index_t slots : {32, 48, 64, 7}) {
        index_t const pages = 280 / slots;
        sizes const s{70, slots * pages, 64, 40, 2, 1};
        bf16_rows const query(random, 2, s.queries, s.features, 0), key(random, 2, s.keys, s.features, 0),
            value(random, 2, s.keys, s.value_features, 0);
        pages_from_the_end<bfloat16> const in_pages(key.rows, value.rows, slots);
        CAPTURE(slots);
        tensor<bfloat16, 4> got({1, 2, s.queries, s.value_features});
        workspace scratch;
        attend_on<with_matrix_unit>(serial, scratch, at_end, query.rows, paged(in_pages.keys, in_pages.table),
                                    paged(in_pages.values, in_pages.table), got);
        check_result(at_end, query.rows, key.rows, value.rows, got);
        tensor<bfloat16, 4> without(got.extents);
        attend_on<with_matrix_unit>(serial, scratch, at_end, query.rows, key.rows, value.rows, without);
        CHECK(same_bits(got, without));
    }
}

TEST_CASE("the matrix unit leaves out values of keys that are not visible", "[driver]") {
    testing::dice random(13);
    bf16_rows const x(random, 1, 70, 32, 0), v(random, 1, 70, 40, 0);
    for (index_t c = 0; c < 40; ++c) v.rows(0, 0, 40, c) = bfloat16(std::numeric_limits<float>::infinity());
    tensor<bfloat16, 4> got({1, 1, 70, 40});
    workspace scratch;
    attend_on<with_matrix_unit>(serial, scratch, at_end, x.rows, x.rows, v.rows, got);
    bool as_seen = true;
    for (index_t n = 0; n < 70; ++n)
        for (index_t c = 0; c < 40; ++c)
            as_seen = as_seen && std::isfinite(static_cast<float>(got(0, 0, n, c))) == (n < 40);
    CHECK(as_seen);
}

#if defined(__AVX512BF16__)
TEST_CASE("where there is no matrix unit that may be used, calls run without it, and explain says so", "[driver]") {
    testing::dice random(17);
    bf16_rows const x(random, 2, 70, 64, 0);
    tensor<bfloat16, 4> got({1, 2, 70, 64});
    workspace scratch;
    attend_on<arch::avx512_amx>(serial, scratch, at_end, x.rows, x.rows, x.rows, got);
    check_result(at_end, x.rows, x.rows, x.rows, got);
    auto const text = explain<arch::avx512_amx>(at_end, x.rows, x.rows, x.rows, got);
    bool const says = text.find("matrix unit") != std::string::npos;
    CHECK(says == kernel::matrix_unit<arch::avx512_amx>::available());
}
#endif
