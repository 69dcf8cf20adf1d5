// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/output.hpp>
#include <fovea/aggregate/residual.hpp>
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/mask/sliding_window.hpp>
#include <fovea/normalize/hardmax.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/project/project.hpp>
#include <fovea/score/scaled_dot.hpp>
#include <fovea/testing/against_reference.hpp>

#include "catch.hpp"

using namespace fovea;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr auto causal_attention = scaled_dot | causal | softmax | weighted_sum;

/// Plain loops in the type of the operands: a sound engine.
template <class T>
constexpr auto plain = [](auto const&... arguments) { reference::attend_in<T>(arguments...); };

/// Engines that are wrong in one place each.
constexpr auto without_mask = [](auto const&, auto const&... rest) {
    reference::attend(scaled_dot | softmax | weighted_sum, rest...);
};
constexpr auto inexact = [](auto const& spec, auto const& q, auto const& k, auto const& v, auto const& out,
                            auto const&... extra) {
    reference::attend(spec, q, k, v, out, extra...);
    if (out.size() > 1) out(0, 0, 0, 0) *= 1.001f;
};
constexpr auto overwriting = [](auto const& spec, auto const& q, auto const& k, auto const& v, auto const& out,
                                auto const&... extra) {
    reference::attend(spec, q, k, v, out, extra...);
    if (out.stride(2) > out.extent(3)) (&out(0, 0, 0, 0))[out.extent(3)] = 0;
};

}  // namespace

TEST_CASE("plain loops agree with the definition", "[testing]") {
    CHECK_NOTHROW(testing::compare_with_reference<float>(plain<float>, causal_attention));
    CHECK_NOTHROW(testing::compare_with_reference<double>(plain<double>, causal_attention));
    CHECK_NOTHROW(testing::compare_with_reference<float>(plain<float>, scaled_dot | hardmax | weighted_sum));
}

TEST_CASE("projections bring their own sizes", "[testing]") {
    testing::dice random(2);
    auto const wq = testing::random_tensor<float>(random, std::array<index_t, 2>{6, 8});
    auto const wk = testing::random_tensor<float>(random, std::array<index_t, 2>{5, 4});
    auto const wo = testing::random_tensor<float>(random, std::array<index_t, 2>{12, 6});
    auto const spec = project(wq, wk, as_is, heads<4, 2>) | scaled_dot | softmax | weighted_sum | output(wo) | residual;
    testing::call_sizes const n{.batches = 2, .queries = 7, .keys = 9, .features = 2, .value_features = 3};
    CHECK_NOTHROW(testing::compare_with_reference<float>(plain<float>, spec, n));
}

TEST_CASE("engines that are wrong are found", "[testing]") {
    CHECK_THROWS_WITH(testing::compare_with_reference<float>(without_mask, causal_attention),
                      ContainsSubstring("the reference has"));
    CHECK_THROWS_WITH(testing::compare_with_reference<float>(inexact, causal_attention),
                      ContainsSubstring("result[0]"));
    CHECK_THROWS_WITH(testing::compare_with_reference<double>(overwriting, causal_attention),
                      ContainsSubstring("nothing is written beside the elements of a view"));
}
