// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>
#include <fovea/testing/random.hpp>
#include "catch.hpp"
#include "support/differences.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace fovea;
using namespace fovea::placeholders;

namespace {
template <class T, int Rank>
tensor<T, Rank> drawn(testing::dice& random, std::array<index_t, Rank> const& extents) {
    return testing::random_tensor<T, Rank>(random, extents);
}
}  // namespace

TEST_CASE("relative_values adds a vector for each distance to the values", "[aggregate]") {
    testing::dice random(1);
    //! [example]
    auto const table = testing::random_tensor<double, 2>(random, {5, 4});  // distances -2 to 2, four features
    auto const attention = scaled_dot | causal | softmax | relative_values(table);
    //! [example]
    auto const x = drawn<double, 2>(random, {9, 4});
    tensor<double, 2> y({9, 4}), all({9, 9}), plain({9, 4});
    attend(attention, x, y);
    attend(scaled_dot | causal | softmax | weighted_sum, x, plain, weights(all));
    for (index_t i = 0; i < 9; ++i)
        for (index_t c = 0; c < 4; ++c) {
            double sum = plain(i, c);
            for (index_t j = 0; j <= i; ++j) sum += all(i, j) * table(std::clamp<index_t>(j - i, -2, 2) + 2, c);
            CHECK(y(i, c) == Approx(sum));
        }
}

TEST_CASE("a table of zeros adds nothing, one of equal rows adds that row", "[aggregate]") {
    testing::dice random(2);
    auto const x = drawn<double, 3>(random, {2, 7, 4});
    tensor<double, 2> const zeros({3, 4}), ones({3, 4}, 1);
    tensor<double, 3> plain({2, 7, 4}), with_zeros({2, 7, 4}), with_ones({2, 7, 4});
    attend(scaled_dot | softmax | weighted_sum, x, plain);
    attend(scaled_dot | softmax | relative_values(zeros), x, with_zeros);
    attend(scaled_dot | softmax | relative_values(ones), x, with_ones);
    for (std::size_t i = 0; i < plain.elements.size(); ++i) {
        CHECK(with_zeros.elements[i] == Approx(plain.elements[i]));
        CHECK(with_ones.elements[i] == Approx(plain.elements[i] + 1));
    }
}

TEST_CASE("gradients through relative_values are those of differences", "[aggregate]") {
    testing::dice random(4);
    auto q = drawn<double, 4>(random, {2, 4, 5, 3}), k = drawn<double, 4>(random, {2, 2, 6, 3}),
         v = drawn<double, 4>(random, {2, 2, 6, 5});
    auto table = drawn<double, 2>(random, {5, 5});
    auto const d = drawn<double, 4>(random, {2, 4, 5, 5});
    auto const check = [&](auto const& spec) {
        tensor<double, 4> dq(q.extents), dk(k.extents), dv(v.extents);
        tensor<double, 2> d_table(table.extents);
        gradient(spec, q, k, v, d, grad(q, dq), grad(k, dk), grad(v, dv), grad(table, d_table));
        auto const loss = [&] {
            tensor<double, 4> y({2, 4, 5, 5});
            attend(spec, q, k, v, y);
            return std::inner_product(y.begin(), y.end(), d.begin(), 0.);
        };
        check_differences(q, dq, loss);
        check_differences(k, dk, loss);
        check_differences(v, dv, loss);
        check_differences(table, d_table, loss);
    };
    check(scaled_dot | where(kv_idx != 3) | softmax | reweight(weight * weight) | relative_values(table));
    graph::edge const pairs[] = {{0, 1}, {1, 0}, {1, 5}, {2, 1}, {4, 4}};
    graph const edges(5, pairs);
    check(scaled_dot | neighbors(edges) | softmax | relative_values(table));
}

TEST_CASE("sequences of a ragged batch have distances of their own", "[aggregate]") {
    testing::dice random(5);
    auto const x = drawn<double, 2>(random, {9, 4}), d = drawn<double, 2>(random, {9, 4});
    auto const table = drawn<double, 2>(random, {5, 4});
    std::vector<int> const offsets{0, 4, 9};
    auto const spec = scaled_dot | causal | softmax | relative_values(table);
    tensor<double, 2> y({9, 4}), expected({9, 4}), d_table({5, 4}), sum({5, 4});
    attend(ragged(offsets), spec, x, y);
    gradient(ragged(offsets), spec, x, d, grad(table, d_table));
    for (auto const& [first, count] : {std::pair<index_t, index_t>(0, 4), std::pair<index_t, index_t>(4, 5)}) {
        view<double const, 2> const part(x.data() + 4 * first, {count, 4}), d_part(d.data() + 4 * first, {count, 4});
        attend(spec, part, view<double, 2>(expected.data() + 4 * first, {count, 4}));
        gradient(spec, part, d_part, grad(table, add_to(sum)));
    }
    CHECK(y.elements == expected.elements);
    for (std::size_t i = 0; i < sum.elements.size(); ++i) CHECK(d_table.elements[i] == Approx(sum.elements[i]));
}

TEST_CASE("a table that does not fit the values is named", "[aggregate]") {
    tensor<float, 2> const x({3, 4}), narrow({3, 3}), even({4, 4});
    tensor<float, 2> y({3, 4}, 7);
    CHECK_THROWS_WITH(attend(scaled_dot | softmax | relative_values(narrow), x, y),
                      "a table read feature by feature has 3 elements, value has 4 features");
    CHECK_THROWS_WITH(relative_values(even),
                      "relative_values: a table of 4 distances: it needs 2 reach + 1, an odd number");
    for (float element : y) CHECK(element == 7);
}
