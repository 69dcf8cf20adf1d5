// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: each_set
// The register tiles against plain loops.
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/call/products.hpp>
#include <fovea/driver/dense/pairwise.hpp>
#include <fovea/kernel/product/accumulate.hpp>
#include <fovea/kernel/product/contract_rows.hpp>
#include <fovea/kernel/product/lane_products.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"
#include "support/architectures.hpp"
#include "support/guarded.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

template <class T>
void fill(testing::dice& random, guarded<T> const& memory) {
    for (auto& x : memory) x = static_cast<T>(random.real(-1, 1));
}

template <class T>
constexpr double allowed = std::is_same_v<T, float> ? 1e-5 : 1e-13;

/// Four lines to prefetch at the steps of a microkernel, which leaves its sums as they are: two for each of two rows,
/// one at every other step. After the last there is nothing.
kernel::prefetch_queue four_lines(void const* first) {
    return kernel::prefetch_queue({.first = first, .rows = 2, .row_bytes = 100, .stride_bytes = 128}, 2);
}
constexpr index_t steps_of_four_lines = 7;

template <class T, class Arch, int Rows, int Vectors>
void check_contract(index_t features) {
    constexpr index_t width = Vectors * kernel::pack<T, Arch>::lanes;
    testing::dice random(2);
    guarded<T> queries(features * Rows), keys(features * width), scores(Rows * width, T{99});
    fill(random, queries);
    fill(random, keys);
    kernel::prefetch_queue none;
    kernel::contract<Rows, Vectors, T, Arch>(queries.data(), keys.data(), width, features, scores.data(), width,
                                             nullptr, none);
    double worst = 0;
    for (index_t r = 0; r < Rows; ++r)
        for (index_t c = 0; c < width; ++c) {
            double sum = 0;
            for (index_t f = 0; f < features; ++f)
                sum += static_cast<double>(queries[f * Rows + r]) * static_cast<double>(keys[f * width + c]);
            worst = std::max(worst, std::abs(sum - static_cast<double>(scores[r * width + c])));
        }
    CHECK(worst <= allowed<T>);

    auto lines = four_lines(keys.data());
    guarded<T> again(Rows * width, T{99});
    kernel::contract<Rows, Vectors, T, Arch, kernel::number_products>(queries.data(), keys.data(), width, features,
                                                                      again.data(), width, nullptr, lines);
    CHECK(std::equal(again.begin(), again.end(), scores.begin()));
    CHECK(lines.empty() == (features >= steps_of_four_lines));
}

/// The addresses of rows, and of as many that repeat the last as are prefetched ahead.
template <class Element>
std::vector<Element const*> addresses(kernel::even_rows<Element> const& rows, index_t count, index_t ahead) {
    std::vector<Element const*> all;
    for (index_t i = 0; i < count + ahead; ++i) all.push_back(rows.row(std::min(i, std::max<index_t>(count - 1, 0))));
    return all;
}

/// The same keys by their addresses: the same bits.
template <class T, class Arch, int At_once, class Element>
void check_listed_keys(kernel::even_rows<Element> const& keys, kernel::row_products<T> all) {
    guarded<T> scores(all.rows * all.stride, T{99});
    T const* const expected = std::exchange(all.scores, scores.data());
    auto const at = addresses(keys, all.count, 5);
    kernel::contract_rows<At_once, T, Arch>(
        kernel::keys_in_place<T, Arch, kernel::rows_by_address<Element>>{{at.data(), 0, 5}}, all);
    bool same = true;
    for (index_t r = 0; r < all.rows; ++r)
        for (index_t k = 0; k < all.count; ++k)
            same = same && scores[r * all.stride + k] == expected[r * all.stride + k];
    CHECK(same);
}

/// Keys in place, a row every features + 3 elements; of all queries, At_once at a time.
template <class T, class Arch, int Rows, int At_once, class Element>
void check_contract_rows(index_t features, index_t count) {
    constexpr index_t lanes = kernel::pack<T, Arch>::lanes;
    index_t const width = round_up(features, lanes), stride = features + 3, room = round_up(count, lanes);
    testing::dice random(2);
    guarded<T> queries(width * Rows, T{0}), scores(Rows * room, T{99});
    guarded<Element> keys(count == 0 ? 0 : (count - 1) * stride + features);
    for (auto& x : keys) x = static_cast<Element>(random.real(-1, 1));
    auto const query = [&](index_t r, index_t f) -> T& {
        return queries[f / lanes * lanes * Rows + r * lanes + f % lanes];
    };
    for (index_t r = 0; r < Rows; ++r)
        for (index_t f = 0; f < features; ++f) query(r, f) = static_cast<T>(random.real(-1, 1));
    kernel::keys_in_place<T, Arch, kernel::even_rows<Element>> const from{{keys.data(), stride}};
    kernel::row_products<T> const all{queries.data(), Rows, count, features, scores.data(), room};
    kernel::contract_rows<At_once, T, Arch>(from, all);
    check_listed_keys<T, Arch, At_once>(from.rows, all);
    double worst = 0;
    for (index_t r = 0; r < Rows; ++r)
        for (index_t k = 0; k < room; ++k) {
            double sum = 0;
            for (index_t f = 0; f < features && k < count; ++f)
                sum += static_cast<double>(query(r, f)) * static_cast<double>(static_cast<T>(keys[k * stride + f]));
            if (k < count) worst = std::max(worst, std::abs(sum - static_cast<double>(scores[r * room + k])));
        }
    CHECK(worst <= allowed<T>);
}

template <class T, class Arch, int Rows, int Vectors>
void check_accumulate(index_t keys) {
    constexpr index_t width = Vectors * kernel::pack<T, Arch>::lanes;
    testing::dice random(6);
    guarded<T> weights(Rows * (keys + 1)), values(keys * width), sums(Rows * width), rescale(Rows);
    fill(random, weights);
    fill(random, values);
    fill(random, sums);
    fill(random, rescale);
    std::vector<double> expected;
    for (index_t r = 0; r < Rows; ++r)
        for (index_t c = 0; c < width; ++c) {
            double sum = static_cast<double>(sums[r * width + c]) * static_cast<double>(rescale[r]);
            for (index_t k = 0; k < keys; ++k)
                sum += static_cast<double>(weights[r * (keys + 1) + k]) * static_cast<double>(values[k * width + c]);
            expected.push_back(sum);
        }
    guarded<T> again(Rows * width), listed(Rows * width), of_transposed(Rows * width), transposed(keys * (Rows + 1));
    for (auto* copy : {&again, &listed, &of_transposed}) std::copy(sums.begin(), sums.end(), copy->begin());
    for (index_t r = 0; r < Rows; ++r)
        for (index_t k = 0; k < keys; ++k) transposed[k * (Rows + 1) + r] = weights[r * (keys + 1) + k];
    kernel::weighted_values<T, kernel::even_rows<T>> all{
        {weights.data(), keys + 1, {}}, keys, {values.data(), width}, sums.data(), width, rescale.data()};
    kernel::prefetch_queue none;
    kernel::accumulate<Rows, Vectors, T, Arch>(weighted_sum, all, none);
    all.sums = again.data();
    auto lines = four_lines(values.data());
    kernel::accumulate<Rows, Vectors, T, Arch>(weighted_sum, all, lines);
    CHECK(std::equal(again.begin(), again.end(), sums.begin()));
    auto const at = addresses(all.values, keys, 3);
    kernel::weighted_values<T, kernel::rows_by_address<T>> const by_address{
        {weights.data(), keys + 1, {}}, keys, {at.data(), 0, 3}, listed.data(), width, rescale.data()};
    kernel::accumulate<Rows, Vectors, T, Arch>(weighted_sum, by_address, none);
    CHECK(std::equal(listed.begin(), listed.end(), sums.begin()));
    kernel::weighted_values<T, kernel::even_rows<T>, kernel::transposed_weights<T>> const by_column{
        {transposed.data(), {}, Rows + 1}, keys, all.values, of_transposed.data(), width, rescale.data()};
    kernel::accumulate<Rows, Vectors, T, Arch>(weighted_sum, by_column, none);
    CHECK(std::equal(of_transposed.begin(), of_transposed.end(), sums.begin()));
    if (Rows > Vectors) CHECK(lines.empty() == (keys >= steps_of_four_lines));  // fewer prefetch the values that follow
    double worst = 0;
    for (std::size_t i = 0; i < expected.size(); ++i)
        worst = std::max(worst, std::abs(expected[i] - static_cast<double>(sums[static_cast<index_t>(i)])));
    CHECK(worst <= allowed<T>);
}

/// Rows of elements, `stride` apart from one step to the next or from row to row, and vectors that are `width`
/// apart; with the greatest of each lane for keys, or what was there before for values, or without.
template <class T, class Arch, int Rows, int Vectors, template <class> class Numbers>
void check_multiply_lanes(index_t steps, bool with_lanes) {
    constexpr index_t lanes = Vectors * kernel::pack<T, Arch>::lanes, width = lanes + 3;
    constexpr bool by_row = std::is_same_v<Numbers<T>, kernel::key_operand<T>>;
    index_t const stride = (by_row ? steps : Rows) + 2;
    testing::dice random(7);
    guarded<T> numbers(by_row ? (Rows - 1) * stride + steps : steps == 0 ? 0 : (steps - 1) * stride + Rows);
    guarded<T> queries(steps * width), sums(Rows * width), rescale(lanes), greatest(lanes);
    for (auto const* memory : {&numbers, &queries, &sums, &rescale, &greatest}) fill(random, *memory);
    std::vector<double> expected, expected_greatest(greatest.begin(), greatest.end());
    for (index_t r = 0; r < Rows; ++r)
        for (index_t l = 0; l < width; ++l) {
            double sum = static_cast<double>(sums[r * width + l]);
            if (l < lanes) sum *= with_lanes && !by_row ? static_cast<double>(rescale[l]) : 0;
            for (index_t i = 0; i < steps && l < lanes; ++i)
                sum += static_cast<double>(numbers[by_row ? r * stride + i : i * stride + r])
                     * static_cast<double>(queries[i * width + l]);
            expected.push_back(sum);
            if (l < lanes && with_lanes && by_row)
                expected_greatest[static_cast<std::size_t>(l)] =
                    std::max(expected_greatest[static_cast<std::size_t>(l)], sum);
        }
    auto const from = [&] {
        if constexpr (by_row) return kernel::key_operand<T>{numbers.data(), stride, {}};
        else return kernel::value_operand<T>{numbers.data(), {}, stride};
    }();
    guarded<T> again(Rows * width), again_greatest(lanes);
    std::copy(sums.begin(), sums.end(), again.begin());
    std::copy(greatest.begin(), greatest.end(), again_greatest.begin());
    T* const of_lanes = by_row ? greatest.data() : rescale.data();
    kernel::prefetch_queue none;
    kernel::multiply_lanes<Rows, Vectors, T, Arch>(from, steps, queries.data(), sums.data(), width,
                                                   with_lanes ? of_lanes : nullptr, none);
    auto lines = four_lines(numbers.data());
    T* const again_of_lanes = by_row ? again_greatest.data() : rescale.data();
    kernel::multiply_lanes<Rows, Vectors, T, Arch>(from, steps, queries.data(), again.data(), width,
                                                   with_lanes ? again_of_lanes : nullptr, lines);
    CHECK(std::equal(again.begin(), again.end(), sums.begin()));
    CHECK(std::equal(again_greatest.begin(), again_greatest.end(), greatest.begin()));
    CHECK(lines.empty() == (steps >= steps_of_four_lines));
    double worst = 0;
    for (std::size_t i = 0; i < expected.size(); ++i)
        worst = std::max(worst, std::abs(expected[i] - static_cast<double>(sums[static_cast<index_t>(i)])));
    for (std::size_t i = 0; i < expected_greatest.size(); ++i)
        worst =
            std::max(worst, std::abs(expected_greatest[i] - static_cast<double>(greatest[static_cast<index_t>(i)])));
    CHECK(worst <= allowed<T>);
}

/// sum over features of weight * |query - key|, with the query's half and the key's half as factors.
template <class T, class Arch, int Rows>
void check_pairwise(index_t features) {
    constexpr int vectors = 2;
    constexpr index_t width = vectors * kernel::pack<T, Arch>::lanes;
    testing::dice random(8);
    guarded<T> queries(Rows * features), keys(features * width), weight(features), scores(Rows * width);
    fill(random, queries);
    fill(random, keys);
    fill(random, weight);
    view<T const, 1> const table(weight.data(), {features});
    auto const factors = plan::factor(param(table) * abs(q - k));
    kernel::row_coordinates rows[Rows] = {};
    kernel::pair_factors<T> const from{queries.data(), Rows * features, keys.data(), features * width, features};
    kernel::pairwise<Rows, vectors, T, Arch>(factors.body, rows, kernel::positions<T, Arch>{0}, from, scores.data(),
                                             width);
    double worst = 0;
    for (index_t r = 0; r < Rows; ++r)
        for (index_t c = 0; c < width; ++c) {
            double sum = 0;
            for (index_t f = 0; f < features; ++f)
                sum += static_cast<double>(weight[f])
                     * static_cast<double>(std::abs(queries[r * features + f] - keys[f * width + c]));
            worst = std::max(worst, std::abs(sum - static_cast<double>(scores[r * width + c])));
        }
    CHECK(worst <= allowed<T>);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("contract multiplies a tile of queries with a panel of keys", "[kernel]", lane_widths) {
    for (index_t features : {0, 1, 7, 64}) {
        check_contract<float, TestType, 1, 2>(features);
        check_contract<float, TestType, 6, 2>(features);
        check_contract<double, TestType, 4, 2>(features);
    }
}

TEMPLATE_LIST_TEST_CASE("contract_rows multiplies queries with keys in place", "[kernel]", lane_widths) {
    for (index_t features : {0, 1, 7, 24, 64, 83})
        for (index_t count : {0, 1, 5, 32, 35}) {
            check_contract_rows<float, TestType, 1, 1, float>(features, count);
            check_contract_rows<float, TestType, 4, 4, bfloat16>(features, count);
            check_contract_rows<float, TestType, 6, 2, std::int8_t>(features, count);
            check_contract_rows<double, TestType, 6, 2, double>(features, count);
        }
}

TEMPLATE_LIST_TEST_CASE("accumulate adds values with their weights", "[kernel]", lane_widths) {
    for (index_t keys : {0, 1, 13, 64}) {
        check_accumulate<float, TestType, 1, 1>(keys);
        check_accumulate<float, TestType, 6, 2>(keys);
        check_accumulate<double, TestType, 4, 2>(keys);
    }
}

TEMPLATE_LIST_TEST_CASE("multiply_lanes adds products with a query in each lane", "[kernel]", lane_widths) {
    for (index_t steps : {0, 1, 5, 6, 64})
        for (bool with_lanes : {false, true}) {
            check_multiply_lanes<float, TestType, 1, 1, kernel::key_operand>(steps, with_lanes);
            check_multiply_lanes<float, TestType, 4, 3, kernel::key_operand>(steps, with_lanes);
            check_multiply_lanes<float, TestType, 8, 2, kernel::value_operand>(steps, with_lanes);
            check_multiply_lanes<double, TestType, 2, 3, kernel::value_operand>(steps, with_lanes);
            check_multiply_lanes<float, TestType, 16, 1, kernel::value_operand>(steps, with_lanes);
        }
}

TEST_CASE("lines are prefetched one at a time, and no more than there are", "[kernel]") {
    guarded<char> memory(2 * 256);
    guarded<char const*> places(2);
    places.data()[0] = memory.data() + 256;
    places.data()[1] = memory.data();
    kernel::prefetch_queue const rows_of_three_lines[] = {
        kernel::prefetch_queue({.first = memory.data(), .rows = 2, .row_bytes = 192, .stride_bytes = 256}),
        {places.data(), 2, 192, 16}};
    for (kernel::prefetch_queue next : rows_of_three_lines) {
        int lines = 0;
        for (; !next.empty() && lines < 100; ++lines) next.prefetch_line<arch::best>();
        CHECK(lines == 6);
        for (int after = 0; after < 1000; ++after) next.prefetch_line<arch::best>();
        CHECK(next.empty());
    }
    CHECK(kernel::prefetch_queue(places.data(), 0, 192, 16).empty());
}

TEMPLATE_LIST_TEST_CASE("pairwise sums what does not separate", "[kernel]", lane_widths) {
    for (index_t features : {0, 1, 9}) {
        check_pairwise<float, TestType, 1>(features);
        check_pairwise<float, TestType, 2>(features);
        check_pairwise<double, TestType, 2>(features);
    }
}
