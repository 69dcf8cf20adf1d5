// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/recurrent.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {
constexpr auto mapped = feature_map(elu(q) + 1);

/// The definition, computed over all keys and over a state.
template <class Left>
void check_same(Left const& left, recurrent_sizes const& sizes) {
    recurrent_call<double> const c(sizes, 3);
    tensor<double, 4> over_state(c.result()), over_keys(c.result());
    reference::attend(left | running_state, c.q.elements, c.k.elements, c.v.elements, over_state);
    reference::attend(left | weighted_sum, c.q.elements, c.k.elements, c.v.elements, over_keys);
    for (std::size_t i = 0; i < over_state.elements.size(); ++i)
        CHECK(over_state.elements[i] == Approx(over_keys.elements[i]).margin(1e-12));
}
}  // namespace

TEST_CASE("a running state is a weighted sum by another way", "[aggregate]") {
    recurrent_sizes const some{2, 4, 2, 9, 9, 5, 3};
    check_same(scaled_dot | causal | unnormalized, some);
    check_same(mapped | causal | proportional, some);
    check_same(compare(-sum(2 * q * relu(k)) / 3) | causal | unnormalized, some);
    check_same(mapped | proportional, {2, 4, 2, 6, 9, 5, 3});
    check_same(dot | unnormalized, {1, 1, 1, 3, 0, 5, 3});
}

TEST_CASE("the state is the sum of keys times values, the sum of the keys beside it", "[aggregate]") {
    recurrent_call<double> const c({1, 1, 1, 4, 4, 3, 2}, 5);
    tensor<double, 4> result(c.result());
    tensor<double, 2> state({3, 3});
    reference::attend(feature_map(relu(q)) | causal | proportional | running_state, c.q.elements, c.k.elements,
                      c.v.elements, result, present_state(state));
    for (index_t f = 0; f < 3; ++f)
        for (index_t d = 0; d < 3; ++d) {
            double sum = 0;
            for (index_t j = 0; j < 4; ++j)
                sum += std::max(c.k.elements(0, 0, j, f), 0.) * (d == 2 ? 1 : c.v.elements(0, 0, j, d));
            CHECK(state(f, d) == Approx(sum).margin(1e-15));
        }
}

TEST_CASE("a text is decoded with a state in place of a cache", "[aggregate]") {
    testing::dice random(4);
    auto const x = testing::random_tensor<float>(random, std::array<index_t, 2>{20, 8});
    tensor<float, 2> whole({20, 8}), y({20, 8});

    //! [example]
    // All positions at once ...
    constexpr auto linear_attention = feature_map(elu(q) + 1) | causal | proportional | running_state;
    attend(linear_attention, x, whole);

    // ... or one after the other: what is kept does not grow. The last column of the state belongs to proportional.
    tensor<float, 2> state({8, 8 + 1});
    for (index_t i = 0; i < 20; ++i) {
        view<float const, 2> const token(&x(i, 0), {1, 8});
        attend(linear_attention, token, view<float, 2>(&y(i, 0), {1, 8}), past_state(state), present_state(state));
    }
    //! [example]

    CHECK(y.elements == whole.elements);
}

TEST_CASE("a running state says what it is", "[aggregate]") {
    CHECK(text(dot | causal | unnormalized | running_state | gated(-0.1) | delta(0.5) | concat_heads)
          == "dot | causal | unnormalized | running_state | gated | delta | concat_heads");
    STATIC_REQUIRE(recurrent_aggregator<decltype(running_state)>);
}
