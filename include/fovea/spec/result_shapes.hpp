// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The extents of operands once they are projected and cut into heads, and those of what a call writes, with every check
// on the way.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/spec/concepts.hpp>
#include <fovea/spec/feature_tables.hpp>
#include <fovea/spec/finish.hpp>
#include <fovea/spec/headwise.hpp>
#include <fovea/spec/shapes.hpp>

#include <string>

namespace fovea::FOVEA_SET {

/// The extents of the operands of one attention, each (batch, head, position, feature).
struct operand_shapes {
    extents_t<4> query{};
    extents_t<4> key{};
    extents_t<4> value{};

    constexpr index_t batches() const { return query[0]; }
    constexpr index_t heads() const { return query[1]; }
    constexpr index_t key_heads() const { return key[1]; }
    constexpr index_t group() const { return query[1] / key[1]; }  // query heads that share a key/value head
    constexpr index_t queries() const { return query[2]; }
    constexpr index_t keys() const { return key[2]; }
    constexpr index_t compared() const { return query[3]; }  // what `dim` stands for
    constexpr index_t features() const { return value[3]; }
};

/// The features a matrix takes and gives, whichever way it is stored.
template <linear_map M>
constexpr index_t inputs_of(M const& map) {
    return map.matrix.extent(M::is_transposed ? 1 : 0);
}
template <linear_map M>
constexpr index_t outputs_of(M const& map) {
    return map.matrix.extent(M::is_transposed ? 0 : 1);
}
template <linear_map M>
constexpr bool has_bias(M const& map) {
    return map.bias.has_value();
}

/// Errors: shape_error when `features` features do not fit a row map; `argument` names what has them.
template <row_map M>
void check_row_map(M const& map, index_t features, char const* argument) {
    if constexpr (linear_map<M>) {
        if (features != inputs_of(map))
            raise_error(shape_error(argument, " has ", detail::counted(features, "feature"),
                                    ", the matrix it is multiplied by takes ", inputs_of(map)));
        if (has_bias(map) && map.bias->extent(0) != outputs_of(map))
            raise_error(shape_error("the bias added to ", argument, " has ",
                                    detail::counted(map.bias->extent(0), "element"), ", the matrix gives ",
                                    detail::counted(outputs_of(map), "feature")));
    }
}

/// The extents of a source after a row map, cut into heads; heads that the source brings along stay.
template <row_map M>
FOVEA_INLINE extents_t<4> projected_extents(M const& map, extents_t<4> const& source, index_t heads,
                                            char const* argument) {
    auto const& below = row_map_below(map);
    check_row_map(below, source[3], argument);
    extents_t<4> extents = source;
    if (linear_map<map_below<M>> || heads != 1) {
        extents_t<4> const row{source[0], source[1], source[2], below.features(source[3])};
        extents = split_heads(view<char const, 4>(nullptr, row), heads, argument).extents;
    }
    for_each_head_map(map, [&](auto const& each) { check_head_map(each, extents, argument); });
    return extents;
}
template <successive_map M>
FOVEA_INLINE extents_t<4> projected_extents(M const& map, extents_t<4> const& source, index_t heads,
                                            char const* argument) {
    return projected_extents(map.second, projected_extents(map.first, source, 1, argument), heads, argument);
}

/// projected_shapes: the extents of query, key and value as the score sees them.
///
/// A specification without a projection takes them as they are.
/// Errors: shape_error when a matrix, its bias or the number of heads does not fit, or the operands one another.
template <attention_spec A>
FOVEA_INLINE operand_shapes projected_shapes(A const& a, extents_t<4> const& query, extents_t<4> const& key,
                                             extents_t<4> const& value) {
    operand_shapes shapes{query, key, value};
    if constexpr (projection<decltype(a.project)>) {
        using count = typename decltype(a.project)::heads_type;
        shapes = {projected_extents(a.project.query, query, count::query, "query"),
                  projected_extents(a.project.key, key, count::key_value, "key"),
                  projected_extents(a.project.value, value, count::key_value, "value")};
    }
    check_operands<decltype(a.score)>(shapes.query, shapes.key, shapes.value);
    return shapes;
}

namespace detail {
/// (batch, head, position, feature) with the heads side by side as one.
constexpr extents_t<4> side_by_side(extents_t<4> const& e) { return {e[0], 1, e[2], e[1] * e[3]}; }

/// The extents after one finish; `source` is that of the queries.
template <class Finish>
extents_t<4> finished_extents(Finish const& f, extents_t<4> const& before, extents_t<4> const& source) {
    if constexpr (!is_sound_kind_of_finish<Finish>()) {
        return before;
    } else if constexpr (averaging_finish<Finish>) {
        return {before[0], 1, before[2], before[3]};
    } else if constexpr (linear_finish<Finish>) {
        return projected_extents(f.linear(), side_by_side(before), 1, "the result of the heads, side by side,");
    } else if constexpr (pointwise_finish<Finish>) {
        check_feature_tables(f.expression(), before[1] * before[3], "the result");
        return before;
    } else if constexpr (residual_finish<Finish>) {
        auto const after = source == before ? before : side_by_side(before);
        if (after != source)
            raise_error(shape_error("residual adds the source of the queries, which is ", source,
                                    ", to the result, which is ", after));
        return after;
    } else {
        return side_by_side(before);
    }
}
}  // namespace detail

/// result_shape: (batch, head, position, feature) of the result; one head where the heads have been joined.
///
/// Heads that a projection made are laid side by side unless a finish joins them; heads that came with the
/// operands stay. `query_source` is what the queries are made of.
/// Errors: shape_error when a finish does not fit what stands before it.
template <attention_spec A>
extents_t<4> result_shape(A const& a, operand_shapes const& operands, extents_t<4> const& query_source) {
    extents_t<4> shape{operands.batches(), operands.heads(), operands.queries(), operands.features()};
    for_each_finish(a.aggregate,
                    [&](auto const& finish) { shape = detail::finished_extents(finish, shape, query_source); });
    bool const made_heads = projection<decltype(a.project)> && query_source[1] == 1;
    return made_heads ? detail::side_by_side(shape) : shape;
}

namespace detail {
/// A number for each row of a head, or for each pair: a missing axis is the one of batch and head that has
/// extent one.
template <class T, int Rank>
FOVEA_INLINE view<T, 3> as_numbers_of_rows(view<T, Rank> const& target, index_t heads) {
    if constexpr (Rank == 2)
        if (heads == 1) return {target.data, {target.extent(0), 1, target.extent(1)}, {target.stride(0), 0, 1}};
    return with_leading_axes<3>(target);
}
template <class T, int Rank>
FOVEA_INLINE view<T, 4> as_numbers_of_pairs(view<T, Rank> const& target, index_t heads) {
    if constexpr (Rank == 3)
        if (heads == 1) return as_heads(target);
    return with_leading_axes<4>(target);
}
}  // namespace detail

/// (batch, head, query) as asked for: a missing axis is the one of batch and head that has extent one.
///
/// Errors: shape_error when the target does not fit the call; `subject` begins it: "lse is".
template <class T, int Rank>
FOVEA_INLINE view<T, 3> rows_of_call(char const* subject, view<T, Rank> const& target, operand_shapes const& operands) {
    static_assert(Rank >= 1 && Rank <= 3,
                  "fovea: an output of one number for each query is (query), (batch, query), (head, query) or (batch, "
                  "head, query)");
    auto const rows = detail::as_numbers_of_rows(target, operands.heads());
    extents_t<3> const needed{operands.batches(), operands.heads(), operands.queries()};
    if (rows.extents != needed)
        raise_error(shape_error(subject, " ", target.extents, " and must be ", needed, ", (batch, head, query)"));
    return rows;
}

/// (batch, head, query, key) as asked for: a missing axis is the one of batch and head that has extent one.
///
/// Errors: shape_error when the target does not fit the call; `subject` begins it: "weights are".
template <class T, int Rank>
FOVEA_INLINE view<T, 4> pairs_of_call(char const* subject, view<T, Rank> const& target,
                                      operand_shapes const& operands) {
    static_assert(
        Rank >= 2 && Rank <= 4,
        "fovea: an output of one number for each pair is (query, key), (batch, query, key), (head, query, key) "
        "or (batch, head, query, key)");
    auto const pairs = detail::as_numbers_of_pairs(target, operands.heads());
    extents_t<4> const needed{operands.batches(), operands.heads(), operands.queries(), operands.keys()};
    if (pairs.extents != needed)
        raise_error(shape_error(subject, " ", target.extents, " and must be ", needed, ", (batch, head, query, key)"));
    return pairs;
}

}  // namespace fovea::FOVEA_SET
