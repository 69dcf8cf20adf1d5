// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/project/as_is.hpp>
#include <fovea/project/linear.hpp>
#include <fovea/spec/headwise.hpp>
#include <fovea/spec/pipe.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// project: how queries, keys and values are computed from their sources, and into how many heads they are split.
///
///     project(Wq, Wk, Wv)    project(Wq, Wk, as_is, heads<32, 8>)    project(linear(Wq, bq) | rotary, Wk | rotary, Wv)
///
/// Shapes: sources are (batch, position, feature); head h takes the features h * d ... of a projected row. A matrix
/// alone stands for linear(matrix); maps of each head, such as rms_normalized and `rotary`, follow it after `|`, and
/// before it they act on whole rows: layer_normalized(g, b) | Wq, linear(Wdown) | Wup.
/// Cost: one matrix product for each role; roles that read the same source through the same matrix share it.
/// Edge cases: if there are fewer key/value heads, the query heads share them evenly (grouped-query, multi-query).
/// Sources that already have heads keep them.
/// Errors: shape_error where a matrix does not fit its source. At compile time, for heads that cannot be shared evenly.
/// Source: Vaswani et al. 2017, section 3.2.2; Ainslie et al. 2023.
template <row_map Query, row_map Key, row_map Value, class Heads>
struct project_t : stage<role::projection> {
    using heads_type = Heads;
    FOVEA_NO_UNIQUE_ADDRESS Query query{};
    FOVEA_NO_UNIQUE_ADDRESS Key key{};
    FOVEA_NO_UNIQUE_ADDRESS Value value{};

    constexpr project_t() = default;
    constexpr project_t(Query const& q, Key const& k, Value const& v) : query(q), key(k), value(v) {}
    std::string text() const {
        std::string line = "project(" + query.text() + ", " + key.text() + ", " + value.text();
        if (Heads::query > 1 || Heads::key_value > 1) line += ", heads<" + std::to_string(Heads::query);
        if (Heads::query != Heads::key_value) line += ", " + std::to_string(Heads::key_value);
        return line + (Heads::query > 1 || Heads::key_value > 1 ? ">)" : ")");
    }
};

namespace detail {
template <class M>
constexpr auto as_row_map(M&& m) {
    if constexpr (row_map<std::remove_cvref_t<M>>) return m;
    else return linear(std::forward<M>(m));
}
}  // namespace detail

/// matrix | map of heads. Preferred to the operator of xtensor, which takes anything, by being the same with
/// constraints.
template <class Matrix, class Map>
    requires(head_map<std::remove_cvref_t<Map>> && (viewable<Matrix> || is_transposed<std::remove_cvref_t<Matrix>>))
constexpr auto operator|(Matrix&& matrix, Map&& map) {
    return linear(std::forward<Matrix>(matrix)) | map;
}

/// Maps of the rows of a source before a matrix.
template <row_map Rows, class Matrix>
    requires(viewable<Matrix> || is_transposed<std::remove_cvref_t<Matrix>>)
constexpr auto operator|(Rows const& rows, Matrix&& matrix) {
    return rows | linear(std::forward<Matrix>(matrix));
}
template <head_map Map, row_map Rows>
constexpr auto operator|(Map const& map, Rows const& rows) {
    return (as_is | map) | rows;
}
template <class Map, class Matrix>
    requires(head_map<std::remove_cvref_t<Map>> && (viewable<Matrix> || is_transposed<std::remove_cvref_t<Matrix>>))
constexpr auto operator|(Map&& map, Matrix&& matrix) {
    return map | linear(std::forward<Matrix>(matrix));
}

template <class Query, class Key, class Value, int QueryHeads = 1, int KeyValueHeads = 1>
constexpr auto project(Query&& q, Key&& k, Value&& v, heads_t<QueryHeads, KeyValueHeads> = {}) {
    auto const query = detail::as_row_map(std::forward<Query>(q));
    auto const key = detail::as_row_map(std::forward<Key>(k));
    auto const value = detail::as_row_map(std::forward<Value>(v));
    return project_t<std::remove_const_t<decltype(query)>, std::remove_const_t<decltype(key)>,
                     std::remove_const_t<decltype(value)>, heads_t<QueryHeads, KeyValueHeads>>{query, key, value};
}
/// A number of heads that is no constant.
template <class Query, class Key, class Value, class Heads>
    requires(!is_heads<Heads>)
constexpr ill_formed project(Query const&, Key const&, Value const&, Heads const&) {
    static_assert(never<Heads>, "fovea: the number of heads is part of the type of a projection: write heads<8>");
    return {};
}
template <class... Others>
    requires(sizeof...(Others) != 3 && sizeof...(Others) != 4)
constexpr ill_formed project(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
