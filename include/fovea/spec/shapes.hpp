// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Views brought to one rank, the operands of a call and what they need of one another, and the place of a sequence
// among those that are packed one after another.
#pragma once

#include <fovea/core/as_view.hpp>
#include <fovea/core/config.hpp>
#include <fovea/core/index.hpp>
#include <fovea/core/paged.hpp>
#include <fovea/core/view.hpp>
#include <fovea/expr/analyze.hpp>
#include <fovea/spec/attention.hpp>

#include <string>
#include <type_traits>

namespace fovea::FOVEA_SET {

/// One sequence of a ragged batch: its number, and where its queries and keys begin and how many there are.
struct sequence_place {
    index_t number = 0, sequences = 0;
    index_t first_query = 0, queries = 0;
    index_t first_key = 0, keys = 0;
    index_t all_queries = 0, all_keys = 0;  // of all sequences together
};

}  // namespace fovea::FOVEA_SET

namespace fovea::FOVEA_SET::detail {

/// Numbers one after another that do not say how long a row is.
template <class V>
concept without_rows = kind_of<V> == container::array && decltype(as_view(std::declval<V&>()))::rank == 1;

/// The sentences for an argument that cannot be an operand; true where it can.
template <class V>
constexpr bool is_operand() {
    using owner = std::remove_cvref_t<V>;
    if constexpr (loaded_rows<owner>) {
        return true;
    } else if constexpr (is_paged<owner>) {
        return has_features_of_numbers<std::remove_pointer_t<decltype(std::declval<owner>().place(0, 0, 0, 0))>>();
    } else if constexpr (!gives_view<owner&>()) {
        return false;
    } else {
        if constexpr (!says_rows<!without_rows<owner>>()) return false;
        else return has_features_of_numbers<std::remove_pointer_t<decltype(as_view(std::declval<owner&>()).data)>>();
    }
}

/// The view of an operand, or pages as they are. A row of a matrix is (1, feature).
template <class V>
FOVEA_INLINE constexpr auto operand_of(V&& v) {
    using owner = std::remove_reference_t<V>;
    if constexpr (!is_operand<std::remove_cvref_t<V>>()) {
        return view<float, 2>();
    } else if constexpr (is_paged<std::remove_cvref_t<V>> || loaded_rows<std::remove_cvref_t<V>>) {
        return v;
    } else if constexpr (kind_of<owner> == container::matrix && like_vector<owner>) {
        if constexpr (owner::RowsAtCompileTime == 1) return view<std::remove_pointer_t<decltype(v.data())>, 2>(v);
        else return as_view(v);
    } else {
        return as_view(v);
    }
}

}  // namespace fovea::FOVEA_SET::detail

namespace fovea::FOVEA_SET {

/// The operands of a call. Whoever adds to the gradient of rows says whose they are: rows of two operands may be the
/// same elements, as those of one sequence of a ragged batch, where the operands are not.
enum class operand_role { query, key, value };

/// (position, feature) or (batch, position, feature) as (batch, head, position, feature); rank 4 stays.
template <class T, int Rank>
constexpr view<T, 4> as_heads(view<T, Rank> const& v) {
    static_assert(Rank >= 2 && Rank <= 4,
                  "fovea: queries, keys, values and results are (position, feature), (batch, position, feature) or "
                  "(batch, head, position, feature)");
    if constexpr (Rank == 2) return {v.data, {1, 1, v.extent(0), v.extent(1)}, {0, 0, v.stride(0), 1}};
    else if constexpr (Rank == 3)
        return {v.data, {v.extent(0), 1, v.extent(1), v.extent(2)}, {v.stride(0), 0, v.stride(1), 1}};
    else if constexpr (Rank == 4) return v;
    else return {};
}

/// Queries, keys or values as (batch, head, position, feature), to be read.
template <row_source R>
FOVEA_CONTROL constexpr auto as_rows(R const& rows) {
    if constexpr (is_paged<R> || loaded_rows<R>) {
        return rows;
    } else {
        auto const all = detail::operand_of(rows);
        return as_heads(view<std::remove_pointer_t<decltype(all.data)> const, decltype(all)::rank>(all));
    }
}

/// The elements of views and pages; the numbers of what is loaded.
template <class R>
using element_of_rows = std::remove_cvref_t<decltype(std::declval<R const&>()(0, 0, 0, 0))>;

/// The type of the arithmetic: double where any operand or the result is double or longer, float otherwise.
template <class... Elements>
using compute_type =
    std::conditional_t<((std::is_floating_point_v<Elements> && sizeof(Elements) > sizeof(float)) || ...), double,
                       float>;

/// (batch, 1, position, heads * feature) as (batch, head, position, feature): the same elements.
template <class T>
constexpr view<T, 4> split_heads(view<T, 4> const& v, index_t heads, char const* argument) {
    if (v.extent(1) != 1)
        raise_error(shape_error(argument, " has ", detail::counted(v.extent(1), "head"),
                                "; an attention that makes its own heads takes (batch, position, feature)"));
    if (v.extent(3) % heads != 0)
        raise_error(shape_error(argument, " has ", detail::counted(v.extent(3), "feature"), ", not a multiple of its ",
                                detail::counted(heads, "head")));
    auto const size = v.extent(3) / heads;
    return {v.data, {v.extent(0), heads, v.extent(2), size}, {v.stride(0), size, v.stride(2), 1}};
}

namespace detail {
inline void require_equal(index_t has, index_t needs, char const* argument, char const* what, char const* other) {
    if (has != needs) raise_error(shape_error(argument, " has ", counted(has, what), ", ", other, " has ", needs));
}

/// True where some sum compares query and key feature by feature, over all of them.
template <class E>
inline constexpr bool compares_features = false;
template <class Operation, class... Children>
inline constexpr bool compares_features<node<Operation, Children...>> = (compares_features<Children> || ...);
template <class Body>
inline constexpr bool compares_features<node<operations::sum, Body>> = uses<Body, q_t> && uses<Body, k_t>;
template <class Body, class Range>
inline constexpr bool compares_features<node<operations::sum, Body, Range>> = false;
}  // namespace detail

/// Checks that the operands of one attention fit one another; the extents are (batch, head, position, feature).
///
/// Errors: shape_error naming the argument, what it has and what was needed.
template <class Score>
FOVEA_CONTROL void check_operands(extents_t<4> const& q, extents_t<4> const& k, extents_t<4> const& v) {
    using detail::require_equal;
    require_equal(k[0], q[0], "key", "batch element", "query");
    require_equal(v[0], q[0], "value", "batch element", "query");
    require_equal(v[1], k[1], "value", "head", "key");
    require_equal(v[2], k[2], "value", "position", "key");
    if (k[1] == 0 || q[1] % k[1] != 0)
        raise_error(shape_error("query has ", detail::counted(q[1], "head"), ", not a multiple of the ",
                                detail::counted(k[1], "head"), " of key and value"));
    using expression = decltype(std::declval<Score const&>().expression());
    if constexpr (detail::compares_features<expression>)
        if (q[3] != k[3])
            raise_error(shape_error("the score compares query and key feature by feature: query has ",
                                    detail::counted(q[3], "feature"), ", key has ", k[3]));
}

}  // namespace fovea::FOVEA_SET
