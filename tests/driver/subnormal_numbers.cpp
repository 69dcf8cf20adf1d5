// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: change
// Subnormal numbers, with which processors compute slowly: no call makes one, whatever scores spread over and whatever
// the mode of its thread is, and it leaves that mode as it was.
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>

#include "catch.hpp"

#include <fovea/testing/random.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

constexpr bool has_mode = subnormals_as_zero::has_mode;

bool makes_subnormals() {
    float volatile smallest = std::numeric_limits<float>::min();
    return smallest / 2 != 0;
}
auto subnormals_in(auto const& numbers) {
    return std::count_if(numbers.begin(), numbers.end(), [](float x) { return std::fpclassify(x) == FP_SUBNORMAL; });
}

/// Operands whose scores spread over some hundreds.
struct operands {
    testing::dice random{45};
    tensor<float, 2> q = testing::random_tensor<float>(random, extents_t<2>{21, 16}),
                     k = testing::random_tensor<float>(random, extents_t<2>{150, 16}),
                     v = testing::random_tensor<float>(random, extents_t<2>{150, 5}),
                     d = testing::random_tensor<float>(random, extents_t<2>{21, 5});
    explicit operands(float spread) {
        for (float& x : q.elements) x *= spread;
    }
};

/// All that calls of a specification write: the result, weights, and the gradients of the operands.
template <class Executor, class Spec>
std::vector<float> written_by(Executor const& executor, Spec const& spec, operands const& x) {
    tensor<float, 2> out(x.d.extents), weighed({21, 150}), d_q(x.q.extents), d_k(x.k.extents), d_v(x.v.extents);
    attend(executor, spec, x.q, x.k, x.v, out, weights(weighed));
    gradient(executor, spec, x.q, x.k, x.v, x.d, grad(x.q, d_q), grad(x.k, d_k), grad(x.v, d_v));
    std::vector<float> all;
    for (auto const* each : {&out, &weighed, &d_q, &d_k, &d_v})
        all.insert(all.end(), each->elements.begin(), each->elements.end());
    return all;
}

template <class Spec>
void check_spec(Spec const& spec, operands const& x) {
    auto const written = written_by(serial, spec, x);
    CHECK(subnormals_in(written) * has_mode == 0);
    CHECK(makes_subnormals());
    subnormals_as_zero const mode;
    auto const again = written_by(threads(3), spec, x);
    CHECK(std::memcmp(again.data(), written.data(), written.size() * sizeof(float)) == 0);
    CHECK(makes_subnormals() != has_mode);
}

}  // namespace

TEST_CASE("weights of scores that spread widely are 0 or normal numbers, and so is what is made of them", "[driver]") {
    for (float const spread : {1.f, 30.f, 300.f}) {
        operands const x(spread);
        check_spec(scaled_dot | softmax | weighted_sum, x);
        check_spec(scaled_dot | weigh(exp(-score * score)) | weighted_sum, x);
    }
}

TEST_CASE("running states that fade are 0 or normal numbers", "[driver]") {
    operands const x(1);
    tensor<float, 2> out(x.v.extents), state({16, 5});
    tensor<float, 3> const decay({1, 1, 150}, -4.f);
    attend(dot | causal | unnormalized | running_state | gated(decay), x.k, x.k, x.v, out, present_state(state));
    CHECK(subnormals_in(out.elements) * has_mode == 0);
    CHECK(subnormals_in(state.elements) * has_mode == 0);
}

TEST_CASE("a call that fails leaves the mode of its thread as well", "[driver]") {
    tensor<float, 4> const x({2, 4, 40, 8}, 1);
    tensor<float, 4> out(x.extents);
    bulk_executor const failing(2, [](index_t, auto const&) { throw std::runtime_error("no threads"); });
    CHECK_THROWS_AS(attend(failing, scaled_dot | softmax | weighted_sum, x, out), std::runtime_error);
    CHECK(makes_subnormals());
}
