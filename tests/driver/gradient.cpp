// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: large
// gradient leaves what the definition says, whichever way runs: with queries or keys in lanes, or the definition.
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>

#include "catch.hpp"
#include "support/worst.hpp"

#include <fovea/testing/random.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

struct sizes {
    index_t batch, heads, key_heads, queries, keys, features, value_features;
};

/// The worst difference of a gradient from the definition, in multiples of its largest element.
template <class T, int Rank>
double difference(tensor<T, Rank> const& found, tensor<double, Rank> const& expected) {
    double most = 0, scale = 1;
    for (std::size_t i = 0; i < expected.elements.size(); ++i) {
        scale = std::max(scale, std::abs(expected.elements[i]));
        double const off = std::abs(static_cast<double>(found.elements[i]) - expected.elements[i]);
        most = worse(most, off);
    }
    return most / scale;
}

template <class T, class Stored = T, class A>
double worst(A const& a, sizes const& n) {
    testing::dice dice(static_cast<unsigned>(n.queries * 1000 + n.keys));
    auto const random = [&](index_t heads, index_t positions, index_t features) {
        tensor<Stored, 4> x({n.batch, heads, positions, features});
        for (auto& e : x.elements) e = Stored(static_cast<float>(dice.between(-100, 100)) / 50);
        return x;
    };
    auto const q = random(n.heads, n.queries, n.features), k = random(n.key_heads, n.keys, n.features),
               v = random(n.key_heads, n.keys, n.value_features), d = random(n.heads, n.queries, n.value_features);
    tensor<T, 4> d_q(q.extents), d_k(k.extents), d_v(v.extents);
    tensor<double, 4> e_q(q.extents), e_k(k.extents), e_v(v.extents);
    gradient(a, q, k, v, d, grad(q, d_q), grad(k, d_k), grad(v, d_v));
    reference::gradient(a, q, k, v, d, grad(q, e_q), grad(k, e_k), grad(v, e_v));
    return worse(difference(d_q, e_q), difference(d_k, e_k), difference(d_v, e_v));
}

}  // namespace

TEST_CASE("one array that is queries, keys and values has the sum of their gradients", "[driver]") {
    testing::dice dice(7);
    auto const x = testing::random_tensor<double>(dice, extents_t<2>{40, 12});
    auto const d = testing::random_tensor<double>(dice, extents_t<2>{40, 12});
    tensor<double, 2> found(x.extents), expected(x.extents);
    auto const a = scaled_dot | causal | softmax | weighted_sum;
    workspace scratch;
    for (int times = 0; times < 2; ++times) gradient(threads(2), scratch, a, x, d, grad(x, found));
    reference::gradient(a, x, d, grad(x, expected));
    for (std::size_t i = 0; i < x.elements.size(); ++i)
        CHECK(found.elements[i] == Approx(expected.elements[i]).margin(1e-12));
}

TEST_CASE("a gradient is added to what its target holds where that is asked for", "[driver]") {
    testing::dice dice(8);
    auto const x = testing::random_tensor<double>(dice, extents_t<2>{20, 6});
    auto const d = testing::random_tensor<double>(dice, extents_t<2>{20, 6});
    auto const slope = testing::random_tensor<double>(dice, extents_t<1>{1});
    auto const w = testing::random_tensor<double>(dice, extents_t<2>{6, 6});
    std::vector<graph::edge> edges;
    for (index_t i = 0; i < 60; ++i) edges.push_back({i % 20, (7 * i + i / 20) % 20});
    graph const list(20, edges);
    auto const with = rescore(score * param(slope)[0]);
    auto const check_spec = [&](auto const& spec) {
        tensor<double, 2> d_x(x.extents), sum_x(x.extents, 1), d_w(w.extents), sum_w(w.extents, 2);
        tensor<double, 1> d_slope({1}), sum_slope({1}, 3);
        gradient(spec, x, d, grad(x, d_x), grad(slope, d_slope), grad(w, d_w));
        gradient(spec, x, d, grad(x, add_to(sum_x)), grad(slope, add_to(sum_slope)), grad(w, add_to(sum_w)));
        for (std::size_t i = 0; i < d_x.elements.size(); ++i)
            CHECK(sum_x.elements[i] == Approx(1 + d_x.elements[i]).margin(1e-12));
        for (std::size_t i = 0; i < d_w.elements.size(); ++i)
            CHECK(sum_w.elements[i] == Approx(2 + d_w.elements[i]).margin(1e-12));
        CHECK(sum_slope.elements[0] == Approx(3 + d_slope.elements[0]).margin(1e-12));
    };
    check_spec(project(w, w, as_is) | dot | with | softmax | weighted_sum);
    check_spec(project(w, as_is, as_is) | dot | with | neighbors(list) | softmax | weighted_sum);
}

TEST_CASE("a table with more elements for heads than there are heads is not trained", "[driver]") {
    tensor<double, 2> const x({5, 4}, 1), d({5, 4}, 1);
    tensor<double, 1> slopes({4}, 1), d_slopes({4}, 7);
    auto const spec = scaled_dot | rescore(score - param(slopes)[head] * kv_idx) | softmax | weighted_sum;
    CHECK_THROWS_WITH(gradient(spec, x, d, grad(slopes, d_slopes)),
                      Catch::Matchers::ContainsSubstring("grad names a table (4) with 4 elements along axis 0, one for "
                                                         "each head, and the call has 1 head"));
    CHECK(d_slopes(0) == 7);
    auto const heads_of_one = project(as_is, as_is, as_is, heads<4>) | spec;
    CHECK_NOTHROW(gradient(heads_of_one, x, d, grad(slopes, d_slopes)));
}

TEST_CASE("sinks below, among and above all scores have gradients, with saved rows and without", "[driver]") {
    constexpr float none = -std::numeric_limits<float>::infinity();
    std::vector<float> const sinks{0.3f, -40, 4, 1e4f, -none, none};
    auto const a = scaled_dot | where(kv_idx + 1 < q_idx || q_idx > 40) | softmax_with_sink(sinks) | weighted_sum;
    testing::dice dice(12);
    for (index_t const queries : {1, 30, 100})
        for (index_t const keys : {1, 40, 300}) {
            CAPTURE(queries, keys);
            auto const q = testing::random_tensor<float>(dice, extents_t<4>{2, 6, queries, 17}),
                       k = testing::random_tensor<float>(dice, extents_t<4>{2, 2, keys, 17}),
                       v = testing::random_tensor<float>(dice, extents_t<4>{2, 2, keys, 9}),
                       d = testing::random_tensor<float>(dice, extents_t<4>{2, 6, queries, 9});
            tensor<double, 4> e_q(q.extents), e_k(k.extents), e_v(v.extents);
            tensor<double, 1> e_sinks({6});
            reference::gradient(a, q, k, v, d, grad(q, e_q), grad(k, e_k), grad(v, e_v), grad(sinks, e_sinks));
            saved_rows<float> state;
            tensor<float, 4> out(d.extents), d_q(q.extents), d_k(k.extents), d_v(v.extents);
            tensor<float, 1> d_sinks({6});
            auto const check = [&](auto const&... saved) {
                gradient(threads(2), a, q, k, v, d, saved..., grad(q, d_q), grad(k, d_k), grad(v, d_v),
                         grad(sinks, d_sinks));
                CHECK(worse(difference(d_q, e_q), difference(d_k, e_k), difference(d_v, e_v)) < 1e-5);
                CHECK(difference(d_sinks, e_sinks) < 1e-5);
            };
            check();
            attend(a, q, k, v, out, save(state));
            CHECK(state.complete());
            check(state);
        }
}

TEST_CASE("saved rows of a call without softmax are not complete, and those of other shapes are refused", "[driver]") {
    tensor<float, 2> const x({5, 4}, 1.f), other({6, 4}, 1.f);
    tensor<float, 2> out({5, 4}), d_x({5, 4}), d_other({6, 4}, 3.f);
    saved_rows<float> state;
    attend(scaled_dot | sparsemax | weighted_sum, x, out, save(state));
    CHECK_FALSE(state.complete());
    gradient(scaled_dot | sparsemax | weighted_sum, x, x, state, grad(x, d_x));
    auto const a = scaled_dot | softmax | weighted_sum;
    attend(a, x, out, save(state));
    CHECK(state.complete());
    CHECK_THROWS_WITH(gradient(a, other, other, state, grad(other, d_other)),
                      "the saved rows are those of a result (1, 1, 5, 4), this call has (1, 1, 6, 4)");
    CHECK(d_other(0, 0) == 3.f);
}

TEST_CASE("a step of gradient descent lowers the loss", "[driver]") {
    testing::dice dice(3);
    auto const x = testing::random_tensor<float>(dice, extents_t<2>{6, 4}),
               wanted = testing::random_tensor<float>(dice, extents_t<2>{6, 4});
    tensor<float, 1> slope({1}, 0.5f), d_slope({1});
    tensor<float, 2> result({6, 4}), d_result({6, 4});
    auto const spec = scaled_dot | rescore(score - param(slope)[0] * abs(q_idx - kv_idx)) | softmax | weighted_sum;
    saved_rows<float> state;
    auto const loss = [&] {
        float sum = 0;
        attend(spec, x, result, save(state));
        for (std::size_t i = 0; i < result.elements.size(); ++i) {
            d_result.elements[i] = result.elements[i] - wanted.elements[i];
            sum += d_result.elements[i] * d_result.elements[i] / 2;
        }
        return sum;
    };
    float const before = loss();
    //! [example]
    attend(spec, x, result, save(state));                      // and a loss, with its gradient d_result
    gradient(spec, x, d_result, state, grad(slope, d_slope));  // by the slope of the distance
    slope(0) -= 0.1f * d_slope(0);                             // a step of gradient descent
    //! [example]
    CHECK(d_slope(0) != 0);
    CHECK(loss() < before);
}
