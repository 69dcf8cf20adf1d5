// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients of a whole layer through the arguments of C: those that gradient computes.
#include "catch.hpp"

#include <fovea/bindings/gradient_unit.hpp>
#include <fovea/bindings/takes.hpp>
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>
#include <fovea/testing/random.hpp>

#include <array>
#include <cstring>

using namespace fovea;

namespace {

constexpr auto layer_of = [](view<float const, 2> wq, view<float const, 2> wo) {
    return project(linear(wq) | rms_normalized, as_is, as_is, heads<2>) | scaled_dot | causal | softmax | weighted_sum
         | output(wo) | residual;
};

template <class T>
fovea_array array_over(tensor<T, 4>& x) {
    fovea_array all{x.elements.data(), {}, {}};
    auto const rows = x.view();
    for (std::size_t axis = 0; axis < 4; ++axis) {
        all.extents[axis] = rows.extents[axis];
        all.strides[axis] = rows.strides[axis];
    }
    return all;
}

}  // namespace

TEST_CASE("a layer with projections, output and residual has gradients through the arguments of C", "[bindings]") {
    testing::dice random{47};
    extents_t<4> const rows{2, 1, 9, 8};
    auto x = testing::random_tensor<float>(random, rows), y = testing::random_tensor<float>(random, rows),
         d = testing::random_tensor<float>(random, rows);
    auto const wq = testing::random_tensor<float>(random, extents_t<2>{8, 8}),
               wo = testing::random_tensor<float>(random, extents_t<2>{8, 8});
    tensor<float, 4> d_x(rows), d_y(rows), d_z(rows), e_x(rows), e_y(rows), e_z(rows);
    tensor<float, 2> d_wq(wq.extents), d_wo(wo.extents), e_wq(wq.extents), e_wo(wo.extents);
    auto z = y;

    std::array<fovea_array, 7> const operands{array_over(x),   array_over(y),   array_over(z),  array_over(d),
                                              array_over(d_x), array_over(d_y), array_over(d_z)};
    std::array<fovea_value, 5> values{};  // the arguments, the extent that they name, and where their gradients go
    values[0].pointer = wq.elements.data();
    values[1].pointer = wo.elements.data();
    values[2].integer = 8;
    values[3].pointer = d_wq.elements.data();
    values[4].pointer = d_wo.elements.data();
    std::array<char, 200> message{};
    fovea_call const call{2, nullptr, message.data(), message.size()};
    auto const kernel = takes<"wq(features, inner), wo(inner, features)">(layer_of);
    REQUIRE(bindings::run_gradient_unit<float>(&call, operands.data(), values.data(), kernel) == FOVEA_OK);
    CHECK(std::strlen(message.data()) == 0);

    gradient(layer_of(wq, wo), x, y, z, d, grad(x, e_x), grad(y, e_y), grad(z, e_z), grad(wq, e_wq), grad(wo, e_wo));
    CHECK(d_x.elements == e_x.elements);
    CHECK(d_y.elements == e_y.elements);
    CHECK(d_z.elements == e_z.elements);
    CHECK(d_wq.elements == e_wq.elements);
    CHECK(d_wo.elements == e_wo.elements);
}
