// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients over listed keys are those of the definition, whatever the graph, the score and the sizes, and have the
// same bits in any number of threads.
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>

#include "catch.hpp"
#include "support/worst.hpp"

#include <fovea/testing/random.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

/// A graph with loops, edges that are there twice, queries without keys and keys that nobody sees.
graph random_graph(testing::dice& dice, index_t queries, index_t keys, index_t edges) {
    std::vector<graph::edge> all;
    for (index_t e = 0; e < edges; ++e)
        all.push_back({dice.between(0, std::max<index_t>(queries - 2, 0)), dice.between(0, (keys - 1) * 3 / 4)});
    for (index_t e = 0; e < edges / 8; ++e) all.push_back(all[static_cast<std::size_t>(e)]);
    if (queries > 2) all.push_back({2, std::min<index_t>(2, keys - 1)});
    return graph(queries, all);
}

struct sizes {
    index_t batch, heads, key_heads, queries, keys, features, value_features;
};

/// The worst difference from the definition, in multiples of the largest element.
template <class T, int Rank>
double difference(tensor<T, Rank> const& found, tensor<double, Rank> const& right) {
    double most = 0, scale = 1;
    for (std::size_t i = 0; i < right.elements.size(); ++i) {
        scale = std::max(scale, std::abs(right.elements[i]));
        double const off = std::abs(static_cast<double>(found.elements[i]) - right.elements[i]);
        most = worse(most, off);
    }
    return most / scale;
}

/// Operands, and the gradients that are found and expected.
template <class T, class Stored = T>
struct problem {
    sizes n;
    tensor<Stored, 4> query, key, value, d_result;
    tensor<T, 4> d_query, d_key, d_value;

    problem(testing::dice& dice, sizes const& of)
        : n(of),
          query(random(dice, of.heads, of.queries, of.features)),
          key(random(dice, of.key_heads, of.keys, of.features)),
          value(random(dice, of.key_heads, of.keys, of.value_features)),
          d_result(random(dice, of.heads, of.queries, of.value_features)),
          d_query(query.extents, T(9)),
          d_key(key.extents, T(9)),
          d_value(value.extents, T(9)) {}

    tensor<Stored, 4> random(testing::dice& dice, index_t heads, index_t positions, index_t features) const {
        tensor<Stored, 4> x({n.batch, heads, positions, features});
        for (auto& e : x.elements) e = Stored(static_cast<float>(dice.between(-100, 100)) / 60);
        return x;
    }

    /// The worst difference of the gradients of queries, keys, values and tables.
    template <class A, int... Rank>
    double worst(A const& a, tensor<T, Rank> const&... tables) {
        std::tuple<tensor<T, Rank>...> found{tensor<T, Rank>(tables.extents)...};
        std::tuple<tensor<double, Rank>...> right{tensor<double, Rank>(tables.extents)...};
        tensor<double, 4> e_q(query.extents), e_k(key.extents), e_v(value.extents);
        std::apply(
            [&](auto&... targets) {
                gradient(a, query, key, value, d_result, grad(query, d_query), grad(key, d_key), grad(value, d_value),
                         grad(tables, targets)...);
            },
            found);
        return std::apply(
            [&](auto&... targets) {
                reference::gradient(a, query, key, value, d_result, grad(query, e_q), grad(key, e_k), grad(value, e_v),
                                    grad(tables, targets)...);
                double const of_tables = std::apply(
                    [&](auto const&... each) { return std::max({0.0, difference(each, targets)...}); }, found);
                return std::max(
                    {of_tables, difference(d_query, e_q), difference(d_key, e_k), difference(d_value, e_v)});
            },
            right);
    }
};

template <class T>
inline constexpr double tolerance = sizeof(T) == 4 ? 2e-5 : 1e-13;

template <class T, int Rank>
tensor<T, Rank> table_of(testing::dice& dice, extents_t<Rank> const& extents) {
    return testing::random_tensor<T>(dice, extents);
}

/// What the test of some sizes goes over.
std::vector<sizes> some_sizes() {
    std::vector<sizes> all;
    for (index_t const features : {1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 31, 32, 33, 64, 70})
        all.push_back({1, 2, 2, 20, 17, features, features % 11 + 1});
    for (index_t const heads : {1, 2, 3, 4, 8, 16, 20})
        for (index_t const features : {1, 2, 4, 8, 16}) all.push_back({2, heads, heads, 13, 19, features, features});
    all.push_back({1, 4, 2, 21, 18, 8, 8});
    all.push_back({2, 6, 1, 9, 30, 5, 4});
    all.push_back({1, 8, 8, 1, 1, 8, 8});
    return all;
}

}  // namespace

TEST_CASE("gradients of a score of node terms are those of the definition", "[driver]") {
    testing::dice dice(61);
    auto const check = [&]<class T>(T, sizes const& n) {
        CAPTURE(n.heads, n.key_heads, n.queries, n.keys, n.features, n.value_features);
        auto const target = table_of<T, 2>(dice, {n.heads, n.features}),
                   source = table_of<T, 2>(dice, {n.heads, n.features});
        auto const edges = random_graph(dice, n.queries, n.keys, 5 * n.queries);
        problem<T> of(dice, n);
        auto const a = gat_score(target, source) | neighbors(edges) | softmax | weighted_sum;
        CHECK(of.worst(a, target, source) < tolerance<T>);
    };
    for (auto const& n : some_sizes()) check(float{}, n), check(double{}, n);
}

TEST_CASE("gradients of sums for each edge are those of the definition", "[driver]") {
    testing::dice dice(62);
    auto const check = [&]<class T>(T, sizes const& n) {
        CAPTURE(n.heads, n.key_heads, n.queries, n.keys, n.features, n.value_features);
        auto const weights = table_of<T, 2>(dice, {n.heads, n.features});
        auto const edges = random_graph(dice, n.queries, n.keys, 5 * n.queries);
        problem<T> of(dice, n);
        CHECK(of.worst(gatv2_score(weights) | neighbors(edges) | softmax | weighted_sum, weights) < tolerance<T>);
        CHECK(of.worst(scaled_dot | neighbors(edges) | softmax | weighted_sum) < tolerance<T>);
    };
    for (auto const& n : some_sizes()) check(float{}, n), check(double{}, n);
}

TEST_CASE("gradients over listed keys have the same bits in any number of threads", "[driver]") {
    testing::dice dice(63);
    sizes const n{2, 4, 4, 300, 280, 8, 8};
    auto const weights = table_of<float, 2>(dice, {n.heads, n.features});
    auto const edges = random_graph(dice, n.queries, n.keys, 2000);
    auto const a = gatv2_score(weights) | neighbors(edges) | softmax | weighted_sum;
    problem<float> of(dice, n);
    auto const bits = [&](int workers) {
        tensor<float, 2> d_weights(weights.extents);
        gradient(threads(workers), a, of.query, of.key, of.value, of.d_result, grad(of.query, of.d_query),
                 grad(of.key, of.d_key), grad(of.value, of.d_value), grad(weights, d_weights));
        return std::make_tuple(of.d_query.elements, of.d_key.elements, of.d_value.elements, d_weights.elements);
    };
    auto const one = bits(1);
    CHECK(bits(2) == one);
    CHECK(bits(5) == one);
}

TEST_CASE("keys that no list names reach no gradient, and a query without keys has none", "[driver]") {
    testing::dice dice(64);
    sizes const n{1, 2, 2, 12, 16, 8, 8};
    auto const weights = table_of<float, 2>(dice, {n.heads, n.features});
    auto const edges = random_graph(dice, n.queries, n.keys, 40);  // not the last query, nor the last keys
    problem<float> of(dice, n);
    float const nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
    for (index_t h = 0; h < n.heads; ++h)
        for (index_t c = 0; c < n.features; ++c) {
            of.key(0, h, n.keys - 1, c) = nan;
            of.value(0, h, n.keys - 1, c) = infinity;
            of.query(0, h, n.queries - 1, c) = nan;
            of.d_result(0, h, n.queries - 1, c) = infinity;
        }
    auto const check = [&](auto const& a) {
        CHECK(of.worst(a, weights) < tolerance<float>);
        for (index_t h = 0; h < n.heads; ++h)
            for (index_t c = 0; c < n.features; ++c) {
                CHECK(of.d_query(0, h, n.queries - 1, c) == 0);
                CHECK(of.d_key(0, h, n.keys - 1, c) == 0);
                CHECK(of.d_value(0, h, n.keys - 1, c) == 0);
            }
    };
    check(gatv2_score(weights) | neighbors(edges) | softmax | weighted_sum);
    check(gat_score(weights, weights) | neighbors(edges) | softmax | weighted_sum);
}

TEST_CASE("gradients of edge features are those of the definition", "[driver]") {
    testing::dice dice(65);
    for (index_t const features : {3, 8, 17}) {
        sizes const n{1, 2, 2, 20, 17, features, 5};
        auto const edges = random_graph(dice, n.queries, n.keys, 90);
        auto const vectors = table_of<double, 2>(dice, {edges.view().edges(), features});
        auto const numbers = table_of<double, 1>(dice, {edges.view().edges()});
        problem<double> of(dice, n);
        CAPTURE(features);
        CHECK(of.worst(
                  compare(sum(q * (k + param(vectors)[edge])) * rsqrt(dim)) | neighbors(edges) | softmax | weighted_sum,
                  vectors)
              < tolerance<double>);
        CHECK(of.worst(scaled_dot | rescore(score + param(numbers)[edge]) | neighbors(edges) | softmax | weighted_sum,
                       numbers)
              < tolerance<double>);
    }
}

TEST_CASE("an array over listed keys that is asked for more than once has its gradient in every target", "[driver]") {
    testing::dice dice(66);
    sizes const n{2, 2, 2, 20, 17, 8, 5};
    auto const edges = random_graph(dice, n.queries, n.keys, 90);
    auto const factors = table_of<float, 1>(dice, {n.heads});              // summed in shares
    auto const of_query = table_of<float, 2>(dice, {n.queries, n.heads});  // summed in place
    auto const a = scaled_dot | rescore(score * param(factors)[head] + param(of_query)(q_idx, head)) | neighbors(edges)
                 | softmax | weighted_sum;
    problem<float> of(dice, n);
    CHECK(of.worst(a, factors, of_query, factors, of_query) < tolerance<float>);
    tensor<double, 4> again(of.query.extents), right(of.query.extents);
    gradient(a, of.query, of.key, of.value, of.d_result, grad(of.query, of.d_query), grad(of.query, again));
    reference::gradient(a, of.query, of.key, of.value, of.d_result, grad(of.query, right));
    CHECK(difference(of.d_query, right) < tolerance<float>);
    CHECK(difference(again, right) < tolerance<float>);
}
