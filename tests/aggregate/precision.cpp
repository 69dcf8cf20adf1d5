// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where precision may stand, and that nothing changes where no matrix unit multiplies;
// tests/driver/matrix_unit_parts.cpp has what it computes.
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>
#include <fovea/reference/gradient.hpp>
#include <fovea/testing/random.hpp>
#include <fovea/testing/tolerance.hpp>

#include "catch.hpp"

#include <string>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;
using Catch::Matchers::ContainsSubstring;

namespace {
constexpr auto plain = scaled_dot | causal | softmax | weighted_sum;
constexpr auto last = scaled_dot | causal_at_end | softmax | weighted_sum;

/// The architecture of the program, without a unit.
struct without_unit {
    using type = std::conditional_t<arch::has_matrix_unit<arch::best>, arch::avx512, arch::best>;
};
using vectors_alone = without_unit::type;

tensor<float, 4> drawn(unsigned seed) {
    testing::dice random(seed);
    tensor<float, 4> x({1, 2, 40, 16});
    for (auto& element : x) element = static_cast<float>(random.real(-2, 2));
    return x;
}
}  // namespace

TEST_CASE("precision is part of the sum that it follows, whatever comes after it", "[aggregate]") {
    STATIC_REQUIRE(asked_parts_of<decltype(plain)> == 0);
    STATIC_REQUIRE(asked_parts_of<decltype(plain | precision(bf16x3))> == 3);
    STATIC_REQUIRE(asked_parts_of<decltype(plain | precision(bf16x2) | concat_heads | residual)> == 2);
    STATIC_REQUIRE(asked_parts_of<decltype(plain | concat_heads | precision(bf16x3))> == 3);
    STATIC_REQUIRE(linear_aggregator<decltype((plain | precision(bf16x3)).aggregate)>);
    auto const kept = softmax | weighted_sum | precision(bf16x3) | concat_heads;
    CHECK(text(scaled_dot | causal | kept)
          == "scaled_dot | causal | softmax | weighted_sum | precision(bf16x3) | concat_heads");
    CHECK(text(weighted_sum | precision(bf16x2)) == "weighted_sum | precision(bf16x2)");
}

TEST_CASE("precision changes no bit where there is no matrix unit, and explain says so", "[aggregate]") {
    auto const x = drawn(3);
    tensor<float, 4> expected(x.extents), got(x.extents);
    workspace scratch;
    attend_on<vectors_alone>(serial, scratch, plain, x, x, x, expected);
    attend_on<vectors_alone>(serial, scratch, plain | precision(bf16x3), x, x, x, got);
    CHECK(got.elements == expected.elements);
    CHECK_THAT(explain<vectors_alone>(plain | precision(bf16x3), x, x, x, got),
               ContainsSubstring("precision   float arithmetic: " + std::string(vectors_alone::name)
                                 + " has no matrix unit\n"));
    CHECK_THAT(explain<vectors_alone>(plain, x, x, x, got), !ContainsSubstring("precision"));
}

TEST_CASE("precision is asked for in a specification", "[aggregate]") {
    auto const query = drawn(1), key = drawn(2), value = drawn(3);
    tensor<float, 4> result(query.extents), expected(query.extents);
    auto const spec = scaled_dot | causal | softmax | weighted_sum;
    //! [example]
    attend(spec | precision(bf16x3), query, key, value, result);
    //! [example]
    reference::attend(spec | precision(bf16x3), query, key, value, expected);
    for (std::size_t i = 0; i < expected.elements.size(); ++i)
        CHECK(result.elements[i] == Approx(expected.elements[i]).margin(1e-5));
}

TEST_CASE("gradients are those of float arithmetic", "[aggregate]") {
    auto const x = drawn(4), d_result = drawn(5);
    tensor<float, 4> expected(x.extents), got(x.extents);
    gradient(plain, x, d_result, grad(x, expected));
    gradient(plain | precision(bf16x3), x, d_result, grad(x, got));
    CHECK(got.elements == expected.elements);

    testing::dice random(6);
    std::vector<q8_0> blocks(40);
    auto const keys = testing::random_tensor<float, 4>(random, {1, 1, 40, 32});
    store(view<q8_0, 4>(blocks.data(), {1, 1, 40, 1}), view<float const, 4>(keys), 0);
    auto const rows = quantized(view<q8_0 const, 4>(blocks.data(), {1, 1, 40, 1}));
    auto const query = testing::random_tensor<float, 4>(random, {1, 1, 3, 32}), d_few = query;
    tensor<float, 4> d_expected(query.extents), d_query(query.extents);
    gradient(last | precision(q8), query, rows, rows, d_few, grad(query, d_query));
    reference::gradient(last, query, rows, rows, d_few, grad(query, d_expected));
    testing::check_close<float, float>("query", d_expected.elements, d_query.elements, {1e-5, 1e-5});
}
