// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradients of layers against the definition.
#pragma once

#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>

#include <fovea/testing/random.hpp>

#include "support/worst.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

namespace layer_gradients {

using namespace fovea;

/// Random arrays of one type.
template <class T>
struct arrays {
    testing::dice dice{5};

    template <class... Extents>
    auto operator()(Extents... extents) {
        constexpr std::size_t rank = sizeof...(Extents);
        tensor<T, static_cast<int>(rank)> x(std::array<index_t, rank>{extents...});
        for (auto& e : x.elements) e = T(static_cast<float>(dice.between(-100, 100)) / 150);
        return x;
    }
};

/// The worst difference of a gradient from the definition, in multiples of its largest element.
template <class T, int Rank>
double difference(tensor<T, Rank> const& found, tensor<double, Rank> const& expected) {
    double most = 0, scale = 1;
    for (std::size_t i = 0; i < expected.elements.size(); ++i) {
        double const off = std::abs(static_cast<double>(found.elements[i]) - expected.elements[i]);
        scale = std::max(scale, std::abs(expected.elements[i]));
        most = worse(most, off);
    }
    return most / scale;
}

/// The gradients of arrays in numbers of type T, from `call(array, ...)`.
template <class T, class Call, class... Of>
auto gradients_of(Call const& call, Of const&... of) {
    std::tuple targets{tensor<T, decltype(as_view(of))::rank>(as_view(of).extents)...};
    std::apply([&](auto&... target) { call(grad(of, target)...); }, targets);
    return targets;
}

/// Their worst difference from the definition. `operands` are those of the call, with the gradient of its result.
template <class T, class Executor, class A, class... Operands, class... Of>
double worst(Executor const& executor, A const& a, std::tuple<Operands...> const& operands, Of const&... of) {
    return std::apply(
        [&](auto const&... operand) {
            auto const found =
                gradients_of<T>([&](auto... asked) { gradient(executor, a, operand..., asked...); }, of...);
            auto const expected =
                gradients_of<double>([&](auto... asked) { reference::gradient(a, operand..., asked...); }, of...);
            return [&]<std::size_t... I>(std::index_sequence<I...>) {
                double most = 0;
                ((most = worse(most, difference(std::get<I>(found), std::get<I>(expected)))), ...);
                return most;
            }(std::index_sequence_for<Of...>());
        },
        operands);
}

}  // namespace layer_gradients
