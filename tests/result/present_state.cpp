// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/recurrent.hpp"

using namespace fovea;

namespace {
constexpr auto remembering = dot | causal | unnormalized | running_state;
}

TEST_CASE("the state behind a call is the past plus keys times values", "[result]") {
    recurrent_call<float> const c({1, 1, 1, 5, 5, 3, 2}, 3);
    auto const &q = c.q.elements, &k = c.k.elements, &v = c.v.elements;
    tensor<float, 4> result(c.result());

    //! [example]
    tensor<float, 2> state({3, 2}, 1);  // (feature of the key, feature of the value); batch and head are one
    attend(remembering, q, k, v, result, past_state(state), present_state(state));
    //! [example]

    for (index_t f = 0; f < 3; ++f)
        for (index_t d = 0; d < 2; ++d) {
            double sum = 1;
            for (index_t j = 0; j < 5; ++j) sum += static_cast<double>(k(0, 0, j, f) * v(0, 0, j, d));
            CHECK(state(f, d) == Approx(sum).margin(1e-6));
        }
}

TEST_CASE("a state that is asked for changes no result", "[result]") {
    recurrent_call<float> const c({2, 4, 2, 20, 20, 5, 40}, 3);
    tensor<float, 4> alone(c.result()), beside(c.result());
    testing::dice random(5);
    testing::scattered<float> state(random, {2, 2, 5, 40});
    attend(remembering, c.q.elements, c.k.elements, c.v.elements, alone);
    attend(remembering, c.q.elements, c.k.elements, c.v.elements, beside, present_state(state.elements));
    CHECK(alone.elements == beside.elements);
    CHECK_NOTHROW(state.check_gaps());
    for (float x : state.collected()) CHECK(x == x);
}

TEST_CASE("a call without positions hands its state on", "[result]") {
    recurrent_call<float> const c({1, 2, 1, 0, 0, 4, 3}, 3);
    testing::dice random(6);
    auto const past = testing::random_tensor<float>(random, std::array<index_t, 2>{4, 3});
    tensor<float, 2> state({4, 3});
    tensor<float, 4> nothing(c.result());
    attend(remembering, c.q.elements, c.k.elements, c.v.elements, nothing, past_state(past), present_state(state));
    CHECK(state.elements == past.elements);
}
