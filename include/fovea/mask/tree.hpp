// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/tensor.hpp>
#include <fovea/mask/where.hpp>

#include <cstdint>
#include <iterator>
#include <utility>

namespace fovea::FOVEA_SET {

/// tree: queries are the nodes of a tree that continues a prefix, as drafts of speculative decoding do; a node sees the
/// prefix, itself and its ancestors.
///
///     kv_idx < prefix  ||  ancestors(q_idx, kv_idx - prefix)
///
/// Shapes: `ancestors` is (node, node), of bool, integers or packed_bits, kept as a view; keys are the prefix and then
/// the nodes. The prefix is a number or an expression of batch.
/// Cost: tiles of the prefix are not masked; tiles of the nodes are, and those without a visible pair are never
/// visited. Edge cases: several roots make several trees. Keys after the last node are excluded. Errors: shape_error
/// where there are more queries than nodes. Source: Miao et al. 2024 (SpecInfer), section 4.2.
template <operand Prefix, class Ancestors>
constexpr auto tree(Prefix const& prefix, Ancestors&& ancestors) {
    using namespace placeholders;
    auto const table = detail::table_param<2>(std::forward<Ancestors>(ancestors));
    auto const node = kv_idx - as_expression(prefix);
    auto const inside = max(min(node, table.table.extent(1) - 1), 0);
    return where(kv_idx < as_expression(prefix)
                 || (node < table.table.extent(1) && detail::holds(table(q_idx, inside))));
}

/// The table of a tree whose parents stand before their children; a root has parent -1.
/// Errors: shape_error for a parent that does not.
template <class Parents>
tensor<std::uint8_t, 2> tree_ancestors(Parents const& parents) {
    auto const count = static_cast<index_t>(std::size(parents));
    tensor<std::uint8_t, 2> table({count, count});
    for (index_t i = 0; i < count; ++i) {
        table(i, i) = 1;
        auto const parent = static_cast<index_t>(parents[static_cast<std::size_t>(i)]);
        if (parent >= i)
            raise_error(shape_error("tree_ancestors: the parent of node ", i, " is ", parent,
                                    ": it must be a node before it, or -1 for a root"));
        for (index_t j = 0; j < i && parent >= 0; ++j)
            if (table(parent, j)) table(i, j) = 1;
    }
    return table;
}
template <class... Others>
    requires(sizeof...(Others) != 2)
constexpr ill_formed tree(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
