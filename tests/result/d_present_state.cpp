// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: change
// Gradients through a state that one call leaves to the next.
#include <fovea/gradient.hpp>

#include "support/differences.hpp"
#include "support/layer_gradients.hpp"
#include "support/recurrent.hpp"

#include <algorithm>

using namespace fovea;
using namespace fovea::placeholders;
using namespace layer_gradients;

namespace {

constexpr auto positive = feature_map(elu(q) + 1);

/// Positions of a sequence, as views of the whole.
template <class T>
view<T, 4> part(view<T, 4> const& all, index_t first, index_t last) {
    return {all.place(0, 0, first, 0), {all.extent(0), all.extent(1), last - first, all.extent(3)}, all.strides};
}

/// The gradients of a call of 23 positions, and those of two calls that share a state, by `gradients(arguments...)`.
template <class T, class A, class Gradients>
void check_two_calls(A const& a, Gradients const& gradients, double tolerance) {
    index_t const n = 23, first = 9, key_features = 5, value_features = 11;
    index_t const columns = value_features + (divides_by_sum<A> ? 1 : 0);
    recurrent_call<T> const c({2, 4, 2, n, n, key_features, value_features}, 3);
    auto const &q = c.q.elements, &k = c.k.elements, &v = c.v.elements;
    testing::dice random(4);
    tensor<T, 4> const d = testing::random_tensor<T>(random, c.result());
    tensor<T, 4> d_q(q.extents), d_k(k.extents), d_v(v.extents);
    gradients(a, q, k, v, d, grad(q, d_q), grad(k, d_k), grad(v, d_v));

    tensor<T, 4> out(c.result()), state({2, 2, key_features, columns}), d_state(state.extents);
    tensor<T, 4> e_q(q.extents), e_k(k.extents), e_v(v.extents);
    attend(a, part(q, 0, first), part(k, 0, first), part(v, 0, first), part(out.view(), 0, first),
           present_state(state));
    auto const of = [&](index_t begin, index_t end, auto const&... states) {
        auto const x = part(q, begin, end), y = part(k, begin, end), z = part(v, begin, end);
        gradients(a, x, y, z, part(d.view(), begin, end), states..., grad(x, part(e_q.view(), begin, end)),
                  grad(y, part(e_k.view(), begin, end)), grad(z, part(e_v.view(), begin, end)));
    };
    of(first, n, past_state(state), grad(state, d_state));
    of(0, first, d_present_state(d_state));
    auto const off = [](tensor<T, 4> const& x, tensor<T, 4> const& y) {
        double most = 0;
        for (std::size_t i = 0; i < x.elements.size(); ++i)
            most = std::max(most, std::abs(static_cast<double>(x.elements[i] - y.elements[i])));
        return most;
    };
    CHECK(off(d_q, e_q) < tolerance);
    CHECK(off(d_k, e_k) < tolerance);
    CHECK(off(d_v, e_v) < tolerance);
}

/// By the definition, and in sweeps.
template <class A>
void check_both(A const& a) {
    check_two_calls<double>(a, [](auto const&... all) { reference::gradient(all...); }, 1e-12);
    check_two_calls<double>(a, [](auto const&... all) { gradient(all...); }, 1e-12);
    check_two_calls<float>(a, [](auto const&... all) { gradient(threads(2), all...); }, 1e-4);
}

}  // namespace

TEST_CASE("two calls that share a state have the gradients of one", "[result]") {
    check_both(scaled_dot | causal | unnormalized | running_state);
    check_both(positive | causal | proportional | running_state | gated(-0.1));
    check_both(scaled_dot | causal | unnormalized | running_state | gated(-0.2) | delta(0.3));
}

TEST_CASE("the gradient of a past state is the slope of the result", "[result]") {
    recurrent_call<double> const c({2, 4, 2, 7, 7, 3, 4}, 5);
    auto const &q = c.q.elements, &k = c.k.elements, &v = c.v.elements;
    testing::dice random(6);
    auto const d = testing::random_tensor<double>(random, c.result());
    auto const check = [&](auto const& a, index_t columns) {
        auto state = testing::random_tensor<double>(random, std::array<index_t, 4>{2, 2, 3, columns});
        for (auto& x : state.elements) x = std::abs(x);  // no sum of weights is near 0
        auto const d_next = testing::random_tensor<double>(random, state.extents);
        auto const value = [&] {
            tensor<double, 4> out(c.result()), next(state.extents);
            reference::attend(a, q, k, v, out, past_state(state), present_state(next));
            double sum = 0;
            for (std::size_t i = 0; i < out.elements.size(); ++i) sum += out.elements[i] * d.elements[i];
            for (std::size_t i = 0; i < next.elements.size(); ++i) sum += next.elements[i] * d_next.elements[i];
            return sum;
        };
        tensor<double, 4> found(state.extents), defined(state.extents), d_k(k.extents), e_k(k.extents);
        gradient(a, q, k, v, d, d_present_state(d_next), past_state(state), grad(state, found), grad(k, d_k));
        reference::gradient(a, q, k, v, d, d_present_state(d_next), past_state(state), grad(state, defined),
                            grad(k, e_k));
        check_differences(state, defined, value, {.margin = 1e-6});
        for (std::size_t i = 0; i < state.elements.size(); ++i)
            CHECK(found.elements[i] == Approx(defined.elements[i]).margin(1e-11));
        for (std::size_t i = 0; i < d_k.elements.size(); ++i)
            CHECK(d_k.elements[i] == Approx(e_k.elements[i]).margin(1e-11));
    };
    check(dot | unnormalized | running_state, 4);
    check(positive | proportional | running_state, 5);
    check(positive | causal | proportional | running_state, 5);
    check(dot | causal | unnormalized | running_state | gated(-0.3) | delta(0.5), 4);
}

TEST_CASE("the gradient of a state goes from the later call to the one before", "[result]") {
    arrays<float> random;
    auto const x1 = random(index_t{3}, index_t{2}), x2 = random(index_t{1}, index_t{2});
    tensor<float, 2> const d1(x1.extents), d2(x2.extents, 1);
    tensor<float, 2> out1(x1.extents), out2(x2.extents), d_x1(x1.extents);
    constexpr auto spec = dot | causal | unnormalized | running_state;

    //! [example]
    tensor<float, 2> state({2, 2}), d_state({2, 2});  // (feature of the key, feature of the value)
    attend(spec, x1, out1, present_state(state));
    attend(spec, x2, out2, past_state(state));
    gradient(spec, x2, d2, past_state(state), grad(state, d_state));
    gradient(spec, x1, d1, d_present_state(d_state), grad(x1, d_x1));
    //! [example]

    for (index_t f = 0; f < 2; ++f)
        for (index_t c = 0; c < 2; ++c) CHECK(d_state(f, c) == Approx(x2(0, f)));  // out2 = state^T x2 + ..., d2 is 1
    for (index_t i = 0; i < 3; ++i)  // state = sum of x1 x1^T, so that each key is there as a value too
        for (index_t f = 0; f < 2; ++f)
            CHECK(
                d_x1(i, f)
                == Approx(x2(0, f) * (x1(i, 0) + x1(i, 1)) + (x2(0, 0) * x1(i, 0) + x2(0, 1) * x1(i, 1))).margin(1e-6));
}

TEST_CASE("a layer goes back through its state, and a call without queries too", "[result]") {
    arrays<float> random;
    auto const x = random(index_t{12}, index_t{6}), w = random(index_t{6}, index_t{8}),
               wo = random(index_t{8}, index_t{6}), d = random(index_t{12}, index_t{6});
    auto const state = random(index_t{2}, index_t{4}, index_t{4}), d_next = random(index_t{2}, index_t{4}, index_t{4});
    auto const layer = project(w, w, w, heads<2>) | dot | causal | unnormalized | running_state | output(wo) | residual;
    auto const found = gradients_of<float>(
        [&](auto... asked) { gradient(layer, x, d, past_state(state), d_present_state(d_next), asked...); }, x, w, wo,
        state);
    auto const defined = gradients_of<double>(
        [&](auto... asked) { reference::gradient(layer, x, d, past_state(state), d_present_state(d_next), asked...); },
        x, w, wo, state);
    CHECK(difference(std::get<0>(found), std::get<0>(defined)) < 1e-5);
    CHECK(difference(std::get<1>(found), std::get<1>(defined)) < 1e-5);
    CHECK(difference(std::get<2>(found), std::get<2>(defined)) < 1e-5);
    CHECK(difference(std::get<3>(found), std::get<3>(defined)) < 1e-5);

    auto const none = random(index_t{0}, index_t{4}), keys = random(index_t{5}, index_t{4});
    tensor<float, 2> const next({4, 4}, 1);
    tensor<float, 2> d_keys(keys.extents), e_keys(keys.extents);
    auto const spec = dot | unnormalized | running_state;
    gradient(spec, none, keys, keys, none, d_present_state(next), grad(keys, d_keys));
    reference::gradient(spec, none, keys, keys, none, d_present_state(next), grad(keys, e_keys));
    for (index_t i = 0; i < 5; ++i)
        for (index_t f = 0; f < 4; ++f) {
            float const sum = keys(i, 0) + keys(i, 1) + keys(i, 2) + keys(i, 3);
            CHECK(d_keys(i, f) == Approx(2 * sum).margin(1e-5));
            CHECK(e_keys(i, f) == Approx(2 * sum).margin(1e-5));
        }
}

TEST_CASE("states of a gradient are checked before anything is written", "[result]") {
    recurrent_call<float> const c({1, 1, 1, 4, 4, 3, 2}, 3);
    auto const &q = c.q.elements, &k = c.k.elements, &v = c.v.elements;
    tensor<float, 4> const d(c.result());
    tensor<float, 4> d_q(q.extents, 7.f);
    tensor<float, 2> state({3, 2}), wrong({2, 3});
    constexpr auto spec = dot | causal | unnormalized | running_state;
    using Catch::Matchers::ContainsSubstring;
    auto const says = [](auto const& call, char const* sentence) {
        CHECK_THROWS_WITH(call(), ContainsSubstring(sentence));
    };
    says([&] { gradient(spec, q, k, v, d, past_state(wrong), grad(q, d_q)); }, "past_state is (1, 1, 2, 3)");
    says([&] { gradient(spec, q, k, v, d, d_present_state(wrong), grad(q, d_q)); }, "d_present_state is (1, 1, 2, 3)");
    says([&] { gradient(spec, q, k, v, d, past_state(state), grad(state, state)); }, "past_state");
    says([&] { gradient(spec, q, k, v, d, grad(state, wrong)); }, "is (2, 3), its array is (3, 2)");
    says([&] { gradient(spec, q, k, v, d, d_present_state(state), grad(state, wrong)); }, "its array is");
    says([&] { gradient(spec, q, k, v, d, grad(q, d_q), grad(wrong, state)); }, "its array is");
    CHECK(std::all_of(d_q.elements.begin(), d_q.elements.end(), [](float x) { return x == 7; }));
}
