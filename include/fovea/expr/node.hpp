// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An expression is a small tree of values: an operation and its children. It owns nothing and refers to no temporary.
#pragma once

#include <fovea/expr/without_value.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET {

namespace detail {
/// A child of a node. One without state takes no room: it is not stored, so that GCC cannot overwrite with its one
/// byte the child it would share an address with.
template <std::size_t Position, class T, bool Empty = std::is_empty_v<T>>
struct child {
    T value{};
    constexpr child() = default;
    constexpr child(T const& v) : value(v) {}
};
template <std::size_t Position, class T>
struct child<Position, T, true> {
    static constexpr T value{};
    constexpr child() = default;
    constexpr child(T const&) {}
};

template <class Positions, class... Children>
struct children_at;

template <std::size_t... Position, class... Children>
struct children_at<std::index_sequence<Position...>, Children...> : child<Position, Children>... {
    constexpr children_at() = default;
    constexpr children_at(Children const&... values) : child<Position, Children>(values)... {}
};

template <std::size_t Position, class T, bool Empty>
constexpr T const& child_at(child<Position, T, Empty> const& c) {
    return c.value;
}
}  // namespace detail

/// node: an operation over children; what it means is decided by whoever reads it.
template <class Operation, class... Children>
struct node : detail::children_at<std::index_sequence_for<Children...>, Children...>,
              detail::without_value<node<Operation, Children...>> {
    using expression_tag = void;
    using operation = Operation;
    static constexpr std::size_t arity = sizeof...(Children);
    using detail::children_at<std::index_sequence_for<Children...>, Children...>::children_at;
    using detail::without_value<node>::operator=;
};

/// An expression: a node, a placeholder, a literal or a parameter.
template <class E>
concept expression = requires { typename std::remove_cvref_t<E>::expression_tag; };

template <class E>
inline constexpr bool is_node = false;
template <class Operation, class... Children>
inline constexpr bool is_node<node<Operation, Children...>> = true;

template <class Operation, class E>
inline constexpr bool is_node_of = false;
template <class Operation, class... Children>
inline constexpr bool is_node_of<Operation, node<Operation, Children...>> = true;

template <std::size_t Position, class Operation, class... Children>
constexpr auto const& get(node<Operation, Children...> const& n) {
    return detail::child_at<Position>(n);
}

/// Calls f with all children of a node.
template <class Operation, class... Children, class F>
FOVEA_INLINE constexpr decltype(auto) with_children(node<Operation, Children...> const& n, F&& f) {
    return [&]<std::size_t... Position>(std::index_sequence<Position...>) FOVEA_LAMBDA -> decltype(auto) {
        return f(detail::child_at<Position>(n)...);
    }(std::index_sequence_for<Children...>{});
}

/// An operation over these children.
template <class Operation, class... Children>
constexpr node<Operation, Children...> make_node(Children const&... children) {
    return {children...};
}

/// True where two expressions of this type are always equal: no literal and no parameter inside.
template <class E>
inline constexpr bool is_stateless = true;
template <class Operation, class... Children>
inline constexpr bool is_stateless<node<Operation, Children...>> = (is_stateless<Children> && ...);

}  // namespace fovea::FOVEA_SET
