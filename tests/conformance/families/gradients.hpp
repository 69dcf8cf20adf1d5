// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradients of a case, as the definition computes them: in the engine of doubles, since they need no other. The
// passes are held against the definition in tests/driver/; sdpa.cpp compares them with the cases as well.
#pragma once

#include "engines.hpp"
#include "outcome.hpp"

#include <fovea/reference/gradient.hpp>

#include <string>
#include <tuple>
#include <type_traits>

namespace conformance {

/// An array that a call reads, and the gradient of the case that belongs to it.
template <class Array>
struct of_case {
    std::string gradient;
    Array const& array;
};
template <class Array>
of_case(std::string, Array const&) -> of_case<Array>;

template <class Engine>
inline constexpr bool has_gradients = std::is_same_v<Engine, float64_engine>;

/// use(d_arrays...) with the gradients of these arrays, where `d_result` is that of the result: tensors of their
/// extents.
template <class Engine, class Use, class... Arrays>
void with_gradients(auto const& attention, auto const& query, auto const& key, auto const& value, auto const& d_result,
                    Use const& use, Arrays const&... arrays) {
    if constexpr (has_gradients<Engine>) {
        auto const like = [](auto const& array) {
            auto const v = fovea::as_view(array);
            return fovea::tensor<double, decltype(v)::rank>(v.extents);
        };
        std::tuple gradients(like(arrays)...);
        std::apply(
            [&](auto&... d) {
                fovea::reference::gradient(attention, query, key, value, d_result, fovea::grad(arrays, d)...);
                use(d...);
            },
            gradients);
    }
}

/// Compares the gradients of these arrays where the case has them.
template <class Engine, class... Arrays>
void compare_gradients(test_case const& subject, checks& all, auto const& attention, auto const& query, auto const& key,
                       auto const& value, auto const& d_result, of_case<Arrays> const&... named) {
    with_gradients<Engine>(
        attention, query, key, value, d_result,
        [&](auto const&... d) {
            auto const compare = [&](auto const& each, auto const& gradient) {
                if (subject.has(each.gradient))
                    all.compare(Engine::name, Engine::computes, each.gradient, gradient.elements,
                                subject[each.gradient].shape);
            };
            (compare(named, d), ...);
        },
        named.array...);
}

}  // namespace conformance
