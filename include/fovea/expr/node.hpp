// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An expression: a small tree of values, an operation and its children. It owns nothing and refers to no temporary. A
// sentence each for an expression that is taken for a value.
#pragma once

#include <fovea/core/diagnose.hpp>
#include <fovea/core/index.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET::detail {

/// A type that an expression may be tried to convert to and is no class: asked first, since most that are tried are
/// one.
template <class T>
concept no_class = !std::is_class_v<T>;
template <class T>
inline constexpr bool counts_elements = std::is_same_v<T, std::size_t> || std::is_same_v<T, index_t>;
template <class T>
inline constexpr bool is_other_number =
    std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, double> && !counts_elements<T>;

/// The result of assignments and increments: a sentence, and the expression as it was.
template <class E>
constexpr E without_change(E const& e) {
    static_assert(never<E>, "fovea: an expression never changes: give the new one a name: auto const t = s + 1");
    return e;
}

/// The base of what expressions are made of, which have no value while they are built, and never change.
///
/// Errors about a deleted function show the line that deletes it, and nothing of what takes its value. Of the
/// overloads of std::tanh that for double is the only one that an expression converts to.
template <class Expression>
struct without_value {
    template <no_class T>
        requires std::is_same_v<T, double>
    operator T() const = delete;  // fovea: no number yet: write tanh(x), not std::tanh(x), and real(x), not double(x)
    template <no_class T>
        requires counts_elements<T>
    explicit(std::is_signed_v<T>) operator T() const = delete;  // fovea: no number yet: write param(table)[i]
    template <no_class T>
        requires is_other_number<T>
    explicit operator T() const = delete;  // fovea: no number yet: write real(x), not float(x)
    template <no_class B>
        requires std::is_same_v<B, bool>
    explicit constexpr operator B() const {
        static_assert(never<Expression, B>,
                      "fovea: no value is known while an expression is built: use select(condition, a, b)");
        return false;
    }

    template <class Other>
    constexpr Expression operator=(Other const&) const {
        return without_change(static_cast<Expression const&>(*this));
    }
};

}  // namespace fovea::FOVEA_SET::detail

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
