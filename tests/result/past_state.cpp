// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/recurrent.hpp"

using namespace fovea;

namespace {
constexpr auto remembering = dot | causal | unnormalized | running_state;
}

TEST_CASE("without a past the state begins with zeros", "[result]") {
    recurrent_call<float> const c({2, 4, 2, 9, 9, 5, 3}, 3);
    tensor<float, 4> plain(c.result()), with_zeros(c.result());
    tensor<float, 4> const zeros({2, 2, 5, 3});
    attend(remembering, c.q.elements, c.k.elements, c.v.elements, plain);
    attend(remembering, c.q.elements, c.k.elements, c.v.elements, with_zeros, past_state(zeros));
    CHECK(plain.elements == with_zeros.elements);
}

TEST_CASE("a past state is read by every query", "[result]") {
    recurrent_call<float> c({1, 1, 1, 3, 3, 2, 2}, 3);
    c.v.fill(c.random, 0);
    auto const& q = c.q.elements;
    tensor<float, 4> result(c.result());

    //! [example]
    tensor<float, 2> state({2, 2});  // (feature of the key, feature of the value); batch and head are one
    state(0, 0) = 1;
    state(1, 1) = 10;
    attend(remembering, q, c.k.elements, c.v.elements, result, past_state(state));  // the values are zeros
    //! [example]

    for (index_t i = 0; i < 3; ++i) {
        CHECK(result(0, 0, i, 0) == Approx(q(0, 0, i, 0)));
        CHECK(result(0, 0, i, 1) == Approx(10 * q(0, 0, i, 1)));
    }
}

TEST_CASE("a state may have another type and other strides than the operands", "[result]") {
    recurrent_call<float> const c({2, 2, 2, 9, 9, 5, 3}, 4);
    testing::dice random(5);
    testing::scattered<double> past(random, {2, 2, 5, 3});
    past.fill(random, 1);
    tensor<float, 4> dense({2, 2, 5, 3}), a(c.result()), b(c.result());
    auto const elements = past.collected();
    for (std::size_t i = 0; i < elements.size(); ++i) dense.elements[i] = static_cast<float>(elements[i]);
    attend(remembering, c.q.elements, c.k.elements, c.v.elements, a, past_state(past.elements));
    attend(remembering, c.q.elements, c.k.elements, c.v.elements, b, past_state(dense));
    CHECK(a.elements == b.elements);
}
