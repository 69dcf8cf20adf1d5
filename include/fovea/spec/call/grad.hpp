// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which gradients a call of gradient writes, and where.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/spec/outputs.hpp>

#include <string_view>
#include <type_traits>

namespace fovea::FOVEA_SET {

namespace detail {
struct grad_header {};
}  // namespace detail

/// The gradient of one array, which the call reads, and where it goes.
template <class Of, class T, int Rank>
struct grad_output {
    using output_tag = void;
    using gradient_tag = void;
    using element = Of;
    static constexpr std::string_view name = "grad";
    static constexpr int rank = Rank;
    view<Of const, Rank> of;
    view<T, Rank> target;
    char const* target_name = nullptr;  // in sentences, where it has a name of its own
    bool wanted = true;                 // where a call decides that it is not, nothing is computed for it or written
    bool adds = false;                  // to what the target holds

    struct bound {
        view<T, Rank> target;
    };
    /// The members of an output that attend asks for.
    template <class Shapes>
    bound bind(Shapes const&) const {
        static_assert(never<Shapes>, "fovea: grad(...) is asked of gradient, which takes the gradient of the result");
        return {target};
    }
};

/// The target of a gradient that is added to what it holds.
template <class T, int Rank>
struct added_target {
    view<T, Rank> target;
};
template <class T>
inline constexpr bool is_added_target = false;
template <class T, int Rank>
inline constexpr bool is_added_target<added_target<T, Rank>> = true;

/// add_to: a target of grad to which the gradient is added, for parameters of several calls and batches in parts.
///
///     gradient(spec, x, d_result, grad(W, add_to(dW)))    // dW += ...
///
/// A target of few bits is rounded once for each call that adds to it.
template <class Target>
constexpr auto add_to(Target&& target) {
    auto const to = detail::target_of(std::forward<Target>(target));
    return added_target<std::remove_pointer_t<decltype(to.data)>, decltype(to)::rank>{to};
}

/// grad: asks `gradient` for the gradient of one array that the call reads: an operand, a table, a matrix or a bias.
///
///     gradient(spec, q, k, v, d_result, grad(q, d_q), grad(slopes, d_slopes))
///     gradient(spec, x, d_result, grad(x, d_x))    x is queries, keys and values: the sum of the three
///
/// Shapes: the array is named as the call reads it, with the same elements, extents and strides; the target has its
/// extents and is overwritten, or added to where it is add_to(target). What is read more than once, as one matrix for
/// keys and values, has the sum of its gradients; an element that repeats along an axis, one for each position.
/// Edge cases: what only indexes, masks or lists keys has no gradient.
/// Errors: shape_error where the target has other extents, or the call reads no such array. At compile time, for
/// integers and conditions, and where it is asked of attend.
template <class Array, class Target>
    requires(!is_added_target<std::remove_cvref_t<Target>>)
constexpr auto grad(Array&& array, Target&& target) {
    auto const of = detail::view_of(array);
    auto const to = detail::target_of(std::forward<Target>(target));
    using element = std::remove_const_t<typename std::remove_const_t<decltype(of)>::value_type>;
    using written = std::remove_pointer_t<decltype(to.data)>;
    constexpr int rank = decltype(of)::rank;
    constexpr bool real = !std::is_integral_v<element>;
    constexpr bool alike = rank == decltype(to)::rank;
    static_assert(real, "fovea: grad takes an array of reals: integers and conditions have no gradient");
    static_assert(!real || alike, "fovea: grad takes an array and a target with as many axes");
    constexpr bool writable = !std::is_const_v<written>;
    static_assert(!real || !alike || writable,
                  "fovea: the target of grad is a view of const elements and cannot be written");
    if constexpr (real && alike && writable) return grad_output<element, written, rank>{.of = of, .target = to};
    else return ill_formed{};
}
template <class Array, class T, int Rank>
constexpr auto grad(Array&& array, added_target<T, Rank> const& to) {
    auto asked = fovea::grad(std::forward<Array>(array), to.target);
    if constexpr (!is_ill_formed<decltype(asked)>) asked.adds = true;
    return asked;
}
template <class... Others>
    requires(sizeof...(Others) != 2)
constexpr ill_formed grad(Others const&...) {
    static_assert(never<Others...>, "fovea: grad takes an array and where its gradient goes: grad(W, dW)");
    return {};
}

/// An argument of gradient after that of the result.
template <class T>
concept asked_gradient = requires { typename std::remove_cvref_t<T>::gradient_tag; };

}  // namespace fovea::FOVEA_SET
