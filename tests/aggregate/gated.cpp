// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/recurrent.hpp"

#include <cmath>
#include <limits>

using namespace fovea;
using namespace fovea::placeholders;

namespace {
constexpr auto linear_state = dot | causal | unnormalized | running_state;

template <class Spec>
tensor<double, 4> result_of(recurrent_call<double> const& c, Spec const& spec) {
    tensor<double, 4> out(c.result());
    reference::attend(spec, c.q.elements, c.k.elements, c.v.elements, out);
    return out;
}

void check_near(tensor<double, 4> const& got, tensor<double, 4> const& expected) {
    for (std::size_t i = 0; i < got.elements.size(); ++i)
        CHECK(got.elements[i] == Approx(expected.elements[i]).margin(1e-12));
}

recurrent_sizes const some{2, 4, 2, 9, 9, 5, 3};
}  // namespace

TEST_CASE("a gate weighs a key by all decays since it was added", "[aggregate]") {
    recurrent_call<double> const c(some, 3);
    auto const result = result_of(c, linear_state | gated(c.decay));
    for (index_t h = 0; h < 4; ++h)
        for (index_t i = 0; i < 9; ++i) {
            double sum = 0;
            for (index_t j = 0; j <= i; ++j)
                for (index_t f = 0; f < 5; ++f) {
                    double since = 0;
                    for (index_t t = j + 1; t <= i; ++t) since += c.decay(1, h / 2, t, f);
                    sum += c.q.elements(1, h, i, f) * c.k.elements(1, h / 2, j, f) * std::exp(since)
                         * c.v.elements(1, h / 2, j, 2);
                }
            CHECK(result(1, h, i, 2) == Approx(sum).margin(1e-12));
        }
}

TEST_CASE("a decay is a number, one for each head, one for each step, or one for each step and feature",
          "[aggregate]") {
    recurrent_call<double> c(some, 4);
    auto const expected = result_of(c, linear_state | gated(-0.25));
    tensor<float, 1> const by_head({2}, -0.25f);
    tensor<double, 3> const by_step({2, 2, 9}, -0.25);
    for (auto& x : c.decay) x = -0.25;
    check_near(result_of(c, linear_state | gated(by_head)), expected);
    check_near(result_of(c, linear_state | gated(by_step)), expected);
    check_near(result_of(c, linear_state | gated(c.decay)), expected);
}

TEST_CASE("a decay of 0 keeps all, one of -inf the last key alone", "[aggregate]") {
    recurrent_call<double> const c(some, 5);
    check_near(result_of(c, linear_state | gated(0)), result_of(c, linear_state));
    check_near(result_of(c, linear_state | gated(-std::numeric_limits<double>::infinity())),
               result_of(c, dot | where(q_idx == kv_idx) | unnormalized | weighted_sum));
}

TEST_CASE("retention: one decay for each head", "[aggregate]") {
    recurrent_call<float> const c({1, 2, 2, 30, 30, 8, 8}, 6);
    auto const &queries = c.q.elements, &keys = c.k.elements, &values = c.v.elements;
    tensor<float, 4> result(c.result()), expected(c.result());

    //! [example]
    tensor<float, 1> log_gamma({2});  // one for each head
    log_gamma(0) = std::log(1 - 1 / 32.f);
    log_gamma(1) = std::log(1 - 1 / 64.f);
    attend(scaled_dot | causal | unnormalized | running_state | gated(log_gamma), queries, keys, values, result);
    //! [example]

    auto const power = exp(param(log_gamma)[head] * (q_idx - kv_idx));
    attend(scaled_dot | rescore(score * power) | causal | unnormalized | weighted_sum, queries, keys, values, expected);
    for (std::size_t i = 0; i < result.elements.size(); ++i)
        CHECK(result.elements[i] == Approx(expected.elements[i]).margin(1e-5));
}
