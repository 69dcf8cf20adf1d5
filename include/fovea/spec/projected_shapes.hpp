// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The extents of query, key and value once they are projected and cut into heads, with every check on the way.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/spec/concepts.hpp>
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
            throw shape_error(argument, " has ", detail::counted(features, "feature"),
                              ", the matrix it is multiplied by takes ", inputs_of(map));
        if (has_bias(map) && map.bias->extent(0) != outputs_of(map))
            throw shape_error("the bias added to ", argument, " has ", detail::counted(map.bias->extent(0), "element"),
                              ", the matrix gives ", detail::counted(outputs_of(map), "feature"));
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
    for_each_head_map(map, [&](auto const& each) {
        if constexpr (requires { each.check(extents, argument); }) each.check(extents, argument);
    });
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

}  // namespace fovea::FOVEA_SET
