// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/recurrent.hpp"

using namespace fovea;

namespace {
constexpr auto linear_state = dot | causal | unnormalized | running_state;

recurrent_sizes const some{2, 4, 2, 9, 9, 5, 3};

/// The state behind a call that begins with `past`.
template <class Spec>
tensor<double, 4> state_after(recurrent_call<double> const& c, Spec const& spec, tensor<double, 4> const& past) {
    tensor<double, 4> out(c.result()), state(past.extents);
    reference::attend(spec, c.q.elements, c.k.elements, c.v.elements, out, past_state(past), present_state(state));
    return state;
}
}  // namespace

TEST_CASE("a rate of 0 leaves the state as it is", "[aggregate]") {
    recurrent_call<double> const c(some, 3);
    testing::dice random(4);
    auto const past = testing::random_tensor<double>(random, extents_t<4>{2, 2, 5, 3});
    CHECK(state_after(c, linear_state | delta(0), past).elements == past.elements);
}

TEST_CASE("a rate of 1 and keys of length one: the last value is found again by its key", "[aggregate]") {
    recurrent_call<double> c(some, 3);
    testing::dice random(4);
    auto const past = testing::random_tensor<double>(random, extents_t<4>{2, 2, 5, 3});
    auto const& k = c.k.elements;
    for (index_t n = 0; n < 9; ++n) {
        double square = 0;
        for (index_t f = 0; f < 5; ++f) square += k(1, 1, n, f) * k(1, 1, n, f);
        for (index_t f = 0; f < 5; ++f) k(1, 1, n, f) /= std::sqrt(square);
    }
    auto const state = state_after(c, linear_state | delta(1), past);
    for (index_t d = 0; d < 3; ++d) {
        double read = 0;
        for (index_t f = 0; f < 5; ++f) read += k(1, 1, 8, f) * state(1, 1, f, d);
        CHECK(read == Approx(c.v.elements(1, 1, 8, d)));
    }
}

TEST_CASE("keys at right angles to all before them are added whole", "[aggregate]") {
    recurrent_call<double> c({1, 1, 1, 4, 4, 4, 3}, 6);
    for (index_t n = 0; n < 4; ++n)
        for (index_t f = 0; f < 4; ++f) c.k.elements(0, 0, n, f) = n == f ? 0.5 : 0;
    tensor<double, 4> const none({1, 1, 4, 3});
    CHECK(state_after(c, linear_state | delta(1), none).elements == state_after(c, linear_state, none).elements);
}

TEST_CASE("a gate acts before the correction", "[aggregate]") {
    recurrent_call<double> const c({1, 1, 1, 1, 1, 2, 1}, 7);
    tensor<double, 4> past({1, 1, 2, 1}, 3);
    auto const state = state_after(c, linear_state | gated(c.decay) | delta(0.5), past);
    double const s0 = 3 * std::exp(c.decay(0, 0, 0, 0)), s1 = 3 * std::exp(c.decay(0, 0, 0, 1));
    double const k0 = c.k.elements(0, 0, 0, 0), k1 = c.k.elements(0, 0, 0, 1), v = c.v.elements(0, 0, 0, 0);
    CHECK(state(0, 0, 0, 0) == Approx(s0 + k0 * 0.5 * (v - k0 * s0 - k1 * s1)));
    CHECK(state(0, 0, 1, 0) == Approx(s1 + k1 * 0.5 * (v - k0 * s0 - k1 * s1)));
    CHECK(state.elements == state_after(c, linear_state | delta(0.5) | gated(c.decay), past).elements);
}

TEST_CASE("gated delta rule, chunk after chunk", "[aggregate]") {
    recurrent_call<float> const c({1, 4, 2, 16, 16, 8, 8}, 8);
    auto const &q = c.q.elements, &k = c.k.elements, &v = c.v.elements;
    auto const& decay = c.decay;
    auto const& rate = c.rate;
    tensor<float, 4> result(c.result()), again(c.result());
    tensor<float, 4> state({1, 2, 8, 8});

    //! [example]
    // Four query heads over the states of two key heads; `state` goes in and comes out.
    auto const spec = scaled_dot | causal | unnormalized | running_state | gated(decay) | delta(rate);
    attend(spec, q, k, v, result, past_state(state), present_state(state));
    //! [example]

    tensor<float, 4> expected_state({1, 2, 8, 8});
    reference::attend(spec, q, k, v, again, present_state(expected_state));
    for (std::size_t i = 0; i < result.elements.size(); ++i)
        CHECK(result.elements[i] == Approx(again.elements[i]).margin(1e-5));
    for (std::size_t i = 0; i < state.elements.size(); ++i)
        CHECK(state.elements[i] == Approx(expected_state.elements[i]).margin(1e-5));
}
