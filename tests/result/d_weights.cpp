// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: change
// Gradients through the weights of a call and through their entropy, which are limits of differences.
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"
#include "support/differences.hpp"

#include <cmath>
#include <numeric>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

constexpr index_t rows = 19, columns = 23;

/// The loss sum d out + sum e weights + sum f entropy, and its gradients by all operands and a table.
struct subject {
    testing::dice random{47};
    tensor<double, 4> q = drawn({2, 4, rows, 5}), k = drawn({2, 2, columns, 5}), v = drawn({2, 2, columns, 3}),
                      d = drawn({2, 4, rows, 3}), e = drawn({2, 4, rows, columns});
    tensor<double, 3> f = testing::random_tensor<double>(random, extents_t<3>{2, 4, rows});
    tensor<double, 1> slopes = testing::random_tensor<double>(random, extents_t<1>{4}, 0.2);

    tensor<double, 4> drawn(extents_t<4> const& extents) { return testing::random_tensor<double>(random, extents); }

    template <class Spec>
    double loss(Spec const& spec) const {
        tensor<double, 4> out(d.extents), all(e.extents);
        tensor<double, 3> spread(f.extents);
        attend(spec, q, k, v, out, weights(all), entropy(spread));
        return std::inner_product(d.begin(), d.end(), out.begin(), 0.)
             + std::inner_product(e.begin(), e.end(), all.begin(), 0.)
             + std::inner_product(f.begin(), f.end(), spread.begin(), 0.);
    }
    template <class Spec, class Gradients>
    void check(Spec const& spec, Gradients const& gradients) {
        tensor<double, 4> dq(q.extents), dk(k.extents), dv(v.extents);
        tensor<double, 1> d_slopes(slopes.extents);
        gradients(spec, q, k, v, d, d_weights(e), d_entropy(f), grad(q, dq), grad(k, dk), grad(v, dv),
                  grad(slopes, d_slopes));
        auto const value = [&] { return loss(spec); };
        check_differences(q, dq, value, {.every = 31});
        check_differences(k, dk, value, {.every = 23});
        check_differences(v, dv, value, {.every = 17});
        check_differences(slopes, d_slopes, value);
    }
};

constexpr auto engine = [](auto const&... arguments) { gradient(threads(2), arguments...); };
constexpr auto definition = [](auto const&... arguments) { reference::gradient(arguments...); };

}  // namespace

TEST_CASE("d_weights adds what a loss makes of the weights", "[result]") {
    tensor<double, 2> const query({1, 1}, 1), value({2, 1}, 1);
    tensor<double, 2> key({2, 1}), d_key({2, 1});
    key(1, 0) = std::log(3.);
    //! [example]
    auto const spec = dot | softmax | weighted_sum;
    tensor<double, 2> const d_out({1, 1}, 0);
    tensor<double, 2> d_w({1, 2}, 0);
    d_w(0, 1) = 1;  // the loss is the weight of the second key
    gradient(spec, query, key, value, d_out, d_weights(d_w), grad(key, d_key));
    // its weight is 3/4: -1/4 * 3/4 and 3/4 * (1 - 3/4)
    //! [example]
    CHECK(d_key(0, 0) == Approx(-3. / 16));
    CHECK(d_key(1, 0) == Approx(3. / 16));
}

TEST_CASE("gradients through weights and their entropy are limits of differences", "[result]") {
    subject s;
    auto const seen = kv_idx + 3 < q_idx + 8;
    s.check(scaled_dot | alibi(s.slopes) | where(seen && q_idx > 0) | softmax | weighted_sum, engine);
    s.check(scaled_dot | alibi(s.slopes) | where(seen && q_idx > 0) | softmax | weighted_sum, definition);
    s.check(scaled_dot | alibi(s.slopes) | keep(top_k(6)) | softmax | weighted_sum, engine);
    s.check(scaled_dot | softmax_with_sink(s.slopes) | reweight(weight * weight) | weighted_sum, engine);
}

TEST_CASE("lists of keys and layers have gradients through their weights", "[result]") {
    testing::dice random(3);
    auto const x = testing::random_tensor<double>(random, extents_t<2>{9, 4}),
               d = testing::random_tensor<double>(random, extents_t<2>{9, 4}),
               w = testing::random_tensor<double>(random, extents_t<2>{4, 4});
    auto const e = testing::random_tensor<double>(random, extents_t<3>{2, 9, 9});
    auto const f = testing::random_tensor<double>(random, extents_t<2>{2, 9});
    std::vector<graph::edge> edges;
    for (index_t i = 0; i < 9; ++i)
        for (index_t j = 0; j <= i; ++j) edges.push_back({i, j});
    graph const list(9, edges);
    auto const layer = [&](auto const& mask) {
        return project(w | l2_normalized, as_is, w, heads<2>) | scaled_dot | mask | softmax | weighted_sum | output(w)
             | map(tanh(out));
    };
    tensor<double, 2> dense({9, 4}), listed({9, 4}), defined({9, 4}), d_w({4, 4}), d_w_defined({4, 4});
    gradient(layer(causal), x, d, d_weights(e), d_entropy(f), grad(x, dense), grad(w, d_w));
    gradient(layer(neighbors(list)), x, d, d_weights(e), d_entropy(f), grad(x, listed));
    reference::gradient(layer(causal), x, d, d_weights(e), d_entropy(f), grad(x, defined), grad(w, d_w_defined));
    for (std::size_t i = 0; i < dense.elements.size(); ++i) {
        CHECK(dense.elements[i] == Approx(defined.elements[i]).margin(1e-9));
        CHECK(listed.elements[i] == Approx(defined.elements[i]).margin(1e-9));
    }
    for (std::size_t i = 0; i < d_w.elements.size(); ++i)
        CHECK(d_w.elements[i] == Approx(d_w_defined.elements[i]).margin(1e-9));
}

TEST_CASE("d_weights and d_entropy that do not fit are refused before anything is written", "[result]") {
    subject s;
    tensor<double, 4> dq(s.q.extents, 3);
    tensor<double, 4> const few({2, 4, rows, columns - 1});
    tensor<double, 3> const short_ones({2, 4, rows - 1});
    auto const spec = scaled_dot | softmax | weighted_sum;
    CHECK_THROWS_WITH(gradient(spec, s.q, s.k, s.v, s.d, d_weights(few), grad(s.q, dq)),
                      Catch::Matchers::ContainsSubstring("d_weights are (2, 4, 19, 22) and must be (2, 4, 19, 23)"));
    CHECK_THROWS_WITH(gradient(spec, s.q, s.k, s.v, s.d, d_entropy(short_ones), grad(s.q, dq)),
                      Catch::Matchers::ContainsSubstring("d_entropy is (2, 4, 18) and must be (2, 4, 19)"));
    CHECK_THROWS_WITH(
        gradient(spec, s.q, s.k, s.v, s.d, d_entropy(view<double const, 3>(dq.data(), {2, 4, rows})), grad(s.q, dq)),
        Catch::Matchers::ContainsSubstring("the target of grad 1 overlaps d_entropy"));
    for (double element : dq) CHECK(element == 3);
}
