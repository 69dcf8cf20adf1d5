// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The body of a sum for one pair, where tables go along with the sums of their gradients.
#pragma once

#include <fovea/expr/backpropagate.hpp>
#include <fovea/kernel/backward/scatter.hpp>
#include <fovea/kernel/head_sums.hpp>

namespace fovea::FOVEA_SET::kernel {

/// The row of a table that a pair reads feature by feature, and where its gradient is summed, or nullptr.
template <class T, class Element, bool Of_head>
struct summed_row {
    using expression_tag = void;
    Element const* first;
    T* sums;
};
/// An element of a table that is the same for all features of a pair, and the sum of its gradient.
template <class T, class Element>
struct summed_element {
    using expression_tag = void;
    Element value;
    T* sum;
};
template <class E>
inline constexpr bool is_summed = false;
template <class T, class Element, bool Of_head>
inline constexpr bool is_summed<summed_row<T, Element, Of_head>> = true;
template <class T, class Element>
inline constexpr bool is_summed<summed_element<T, Element>> = true;

/// As body_of_pair, where tables that `Tables` takes go along with the sums of their gradients.
template <bool Heads_differ, class T, class E, class Names, class Tables>
FOVEA_INLINE auto summed_body(E const& e, Names const& names, Tables const& tables) {
    if constexpr (is_parameter<E> || is_node_of<at_operation, E>) {
        auto const& table = fovea::detail::table_of(e);
        using element = typename std::remove_cvref_t<decltype(table)>::value_type;
        constexpr int rank = std::remove_cvref_t<decltype(table)>::rank;
        constexpr bool whole = free_axes_of<E> == 0;
        if constexpr (!Tables::template takes<parameter<std::remove_const_t<element>, rank>>
                      || (whole && Heads_differ && uses<E, head_t>)) {
            return body_of_pair<Heads_differ>(e, names);
        } else {
            view<T, rank> const to = tables.sums(table);
            auto const at = [&](auto const&... index) FOVEA_LAMBDA {
                T* const sums = to.data == nullptr ? nullptr : to.data + clamped_offset(to, index...);
                if constexpr (whole)
                    return summed_element<T, std::remove_const_t<element>>{table.data[clamped_offset(table, index...)],
                                                                           sums};
                else return summed_row<T, std::remove_const_t<element>, uses<E, head_t>>{row_at(table, index...), sums};
            };
            if constexpr (is_parameter<E>) return at();
            else
                return with_children(e, [&](auto const&, auto const&... indices)
                                            FOVEA_LAMBDA { return at(evaluate(indices, names)...); });
        }
    } else if constexpr (is_node<E> && reads_a_table<E>) {
        return with_children(e, [&](auto const&... children) FOVEA_LAMBDA {
            return make_node<typename E::operation>(summed_body<Heads_differ, T>(children, names, tables)...);
        });
    } else {
        return e;
    }
}

/// Features of a pair in lanes, of one head or of several, with the tables of summed_body.
template <class T, class Features>
struct summed_features : Features {
    using Features::operator();
    template <class Element, bool Of_head>
    FOVEA_INLINE auto operator()(summed_row<T, Element, Of_head> const& of) const {
        return Features::operator()(table_row<Element, Of_head>{of.first});
    }
    template <class Element>
    FOVEA_INLINE Element operator()(summed_element<T, Element> const& element) const {
        return element.value;
    }
};

}  // namespace fovea::FOVEA_SET::kernel
