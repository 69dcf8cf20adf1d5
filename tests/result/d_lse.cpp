// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: change
// Gradients through the log-sum-exp of a call, which are limits of differences.
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>

#include "catch.hpp"
#include "support/differences.hpp"

#include <fovea/testing/random.hpp>

#include <cmath>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

index_t constexpr positions = 23;

/// The loss of a call, sum d out + sum e lse, and its gradients by x, a matrix and a sink for each head.
struct subject {
    testing::dice random{46};
    tensor<double, 3> x = testing::random_tensor<double>(random, extents_t<3>{1, positions, 8}),
                      d = testing::random_tensor<double>(random, extents_t<3>{1, positions, 8});
    tensor<double, 3> e = testing::random_tensor<double>(random, extents_t<3>{1, 2, positions});
    tensor<double, 2> w = testing::random_tensor<double>(random, extents_t<2>{8, 8});
    tensor<double, 1> sink = testing::random_tensor<double>(random, extents_t<1>{2});

    template <class Spec, class... Before>
    double loss(Spec const& spec, Before const&... before) const {
        tensor<double, 3> out(d.extents), sums(e.extents);
        attend(before..., spec, x, out, lse(sums));
        double all = 0;
        for (std::size_t i = 0; i < d.elements.size(); ++i) all += d.elements[i] * out.elements[i];
        for (std::size_t i = 0; i < e.elements.size(); ++i)
            if (std::isfinite(sums.elements[i])) all += e.elements[i] * sums.elements[i];
        return all;
    }
    /// The gradients by `gradients(arguments...)` are what differences say along an element of each array.
    template <class Spec, class Gradients, class... Before>
    void check(Spec const& spec, Gradients const& gradients, Before const&... before) {
        tensor<double, 3> d_x(x.extents);
        tensor<double, 2> d_w(w.extents);
        tensor<double, 1> d_sink(sink.extents);
        gradients(before..., spec, x, d, d_lse(e), grad(x, d_x), grad(w, d_w), grad(sink, d_sink));
        auto const value = [&] { return loss(spec, before...); };
        check_differences(x, d_x, value, {.margin = 1e-8, .every = 7});
        check_differences(w, d_w, value, {.margin = 1e-8, .every = 5});
        check_differences(sink, d_sink, value, {.margin = 1e-8});
    }
};

constexpr auto engine = [](auto const&... arguments) { gradient(arguments...); };
constexpr auto definition = [](auto const&... arguments) { reference::gradient(arguments...); };

}  // namespace

TEST_CASE("d_lse adds what a loss makes of the log-sum-exp", "[result]") {
    tensor<double, 2> const query({1, 1}, 1), value({2, 1}, 1);
    tensor<double, 2> key({2, 1}), d_key({2, 1});
    key(1, 0) = std::log(3.);
    //! [example]
    auto const spec = dot | softmax | weighted_sum;
    tensor<double, 2> out({1, 1}), d_out({1, 1}, 0);
    tensor<double, 1> sums({1}), d_sums({1});
    attend(spec, query, key, value, out, lse(sums));
    d_sums(0) = 2 * sums(0);  // the gradient of the z-loss lse^2
    gradient(spec, query, key, value, d_out, d_lse(d_sums), grad(key, d_key));
    // d_key is 2 lse times the weights, 1/4 and 3/4
    //! [example]
    CHECK(d_key(0, 0) == Approx(2 * std::log(4.) / 4));
    CHECK(d_key(1, 0) == Approx(2 * std::log(4.) * 3 / 4));
}

TEST_CASE("gradients through the log-sum-exp are limits of differences", "[result]") {
    subject s;
    // The first queries see no key.
    auto const layer = project(s.w, as_is, as_is, heads<2>) | scaled_dot | where(kv_idx + 3 < q_idx)
                     | softmax_with_sink(s.sink) | weighted_sum | concat_heads;
    s.check(layer, engine);
    s.check(layer, definition);
    s.check(layer, engine, threads(2));
    std::vector<index_t> const offsets{0, 9, 9, positions};
    s.check(layer, engine, ragged(offsets));
}

TEST_CASE("saved rows and lists of keys have gradients through the log-sum-exp", "[result]") {
    subject s;
    tensor<float, 2> x({positions, 8}), d({positions, 8}), out({positions, 8}), with_rows({positions, 8}),
        without({positions, 8}), expected({positions, 8});
    tensor<float, 1> e({positions});
    for (std::size_t i = 0; i < x.elements.size(); ++i) {
        x.elements[i] = static_cast<float>(s.x.elements[i]);
        d.elements[i] = static_cast<float>(s.d.elements[i]);
    }
    for (std::size_t i = 0; i < e.elements.size(); ++i) e.elements[i] = static_cast<float>(s.e.elements[i]);
    auto const spec = scaled_dot | causal | softmax | weighted_sum;
    saved_rows<float> rows;
    attend(spec, x, out, save(rows));
    gradient(spec, x, d, rows, d_lse(e), grad(x, with_rows));
    gradient(spec, x, d, d_lse(e), grad(x, without));
    reference::gradient(spec, x, d, d_lse(e), grad(x, expected));
    for (std::size_t i = 0; i < x.elements.size(); ++i) {
        CHECK(with_rows.elements[i] == Approx(expected.elements[i]).margin(2e-5));
        CHECK(without.elements[i] == Approx(expected.elements[i]).margin(2e-5));
    }
    std::vector<graph::edge> edges;
    for (index_t i = 0; i < positions; ++i)
        for (index_t j = 0; j <= i; ++j) edges.push_back({i, j});
    graph const list(positions, edges);
    gradient(scaled_dot | neighbors(list) | softmax | weighted_sum, x, d, d_lse(e), grad(x, without));
    for (std::size_t i = 0; i < x.elements.size(); ++i)
        CHECK(without.elements[i] == Approx(expected.elements[i]).margin(2e-5));
}

TEST_CASE("d_lse that does not fit is refused before anything is written", "[result]") {
    subject s;
    tensor<double, 3> d_x(s.x.extents, 3);
    tensor<double, 1> const few({positions - 1});
    CHECK_THROWS_WITH(gradient(scaled_dot | softmax | weighted_sum, s.x, s.d, d_lse(few), grad(s.x, d_x)),
                      Catch::Matchers::ContainsSubstring("d_lse is (22)"));
    CHECK_THROWS_WITH(gradient(scaled_dot | softmax | weighted_sum, s.x, s.d,
                               d_lse(view<double const, 1>(d_x.elements.data(), {positions})), grad(s.x, d_x)),
                      Catch::Matchers::ContainsSubstring("d_lse"));
    CHECK(d_x.elements[0] == 3);
}
