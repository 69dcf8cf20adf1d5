// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/as_view.hpp>
#include <fovea/core/diagnose.hpp>
#include <fovea/driver/takes_lanes.hpp>
#include <fovea/plan/architecture.hpp>
#include <fovea/plan/explain.hpp>
#include <fovea/plan/tile.hpp>
#include <fovea/spec/arguments.hpp>
#include <fovea/spec/check_call.hpp>
#include <fovea/spec/inputs.hpp>
#include <fovea/spec/recurrence.hpp>
#include <fovea/spec/shapes.hpp>
#include <fovea/spec/well_formed.hpp>

#include <string>

namespace fovea::FOVEA_SET {

namespace driver {
/// The same for an attention with a running state.
template <class T, class Arch, class A>
std::string explain_state(A const& a, operand_shapes const& n) {
    auto const number = [](index_t x) { return std::to_string(x); };
    return "attention   " + fovea::text(a)
         + "\nscore       queries and keys are mapped once, their product runs over the state" + "\nmask        "
         + (is_causal_attention<A> ? describe(a.mask) + ": in the order of the keys"
                                   : "none: all keys come before the first query")
         + "\nnormalize   " + describe(a.normalize)
         + (divides_by_sum<A> ? ": the sum of the keys is kept beside the state" : "")
         + "\nloop        driver/recurrent.hpp on " + std::string(Arch::name) + ", "
         + number(Arch::vector_bytes / static_cast<index_t>(sizeof(T))) + " x "
         + (sizeof(T) == 4 ? "float32" : "float64") + ": a state of " + number(n.key[3]) + " x " + number(n.features())
         + " for each of " + number(n.batches() * n.key_heads()) + " heads of keys\n";
}

/// The same for pairs in tiles, with a query or a key in each lane.
template <class T, class Arch, class Tile, class A>
std::string explain_tiles(A const& a, operand_shapes const& n, index_t block_queries, std::string const& loop) {
    auto const number = [](index_t x) { return std::to_string(x); };
    box const all{{0, n.batches() - 1}, {0, n.heads() - 1}, {0, n.queries() - 1}, {0, n.keys() - 1},
                  n.queries(),          n.keys(),           n.compared()};
    auto const blocks = plan::count_blocks(a.mask.predicate(), all, block_queries, Tile::block_keys);
    std::string const mask = describe(a.mask);
    return "mask        " + (mask.empty() ? std::string("none") : mask) + ": of the blocks of " + number(block_queries)
         + " queries x " + number(Tile::block_keys) + " keys " + number(blocks.full) + " full, " + number(blocks.mixed)
         + " mixed, " + number(blocks.empty) + " skipped\n" + "normalize   " + plan::explain_normalizer(a.normalize)
         + "\nloop        " + loop + " on " + std::string(Arch::name) + ", "
         + number(Arch::vector_bytes / static_cast<index_t>(sizeof(T))) + " x "
         + (sizeof(T) == 4 ? "float32" : "float64") + ": tiles of " + number(Tile::rows) + " queries x "
         + number(Tile::panel) + " keys, ";
}

template <class T, class Arch, class Operands, class A>
std::string explain_on(A const& a, operand_shapes const& n) {
    using tile = plan::tile<T, Arch>;
    using lane_tile = plan::lane_tile<T, Arch>;
    auto const number = [](index_t x) { return std::to_string(x); };
    std::string const width = number(tile::lanes) + " x " + (sizeof(T) == 4 ? "float32" : "float64");
    std::string text = "attention   " + fovea::text(a) + "\n";
    auto const score = [&](std::string const& file_of_products) {
        return "score       " + plan::explain_score(plan::lower(a.score.expression()), file_of_products) + "\n";
    };
    if constexpr (enumerating_mask<decltype(a.mask)>) {
        text += score("kernel/head_sums.hpp") + "mask        " + describe(a.mask)
              + ": keys are listed, not tested\nnormalize   " + plan::explain_normalizer(a.normalize) + "\n";
        return text + "loop        driver/enumerated.hpp on " + std::string(Arch::name) + ", " + width
             + ": one query at a time, heads innermost\n";
    } else {
        using recipe_type =
            decltype(recipe{plan::lower(a.score.expression()), a.mask.predicate(), normalizer_of(a.normalize),
                            reweighting_of(a.normalize), core_of(a.aggregate)});
        std::string const of_registers = " of " + number(Arch::registers) + " registers hold sums\n";
        if (takes_query_lanes<T, recipe_type, Operands>() && lane_tile::suits(n.queries() * n.group())) {
            index_t const group = lane_tile::sharing(n.queries(), n.group());
            return text + score("kernel/lane_products.hpp")
                 + explain_tiles<T, Arch, lane_tile>(a, n, std::max<index_t>(lane_tile::block_rows / group, 1),
                                                     "driver/dense_lanes.hpp")
                 + "a query in each lane, " + number(lane_tile::numbers * lane_tile::most_vectors) + of_registers;
        }
        return text + score("kernel/contract.hpp")
             + explain_tiles<T, Arch, tile>(a, n, std::max<index_t>(tile::block_rows / n.group(), 1),
                                            "driver/dense.hpp")
             + "a key in each lane, " + number(tile::rows * tile::vectors) + of_registers;
    }
}

/// What is complete can be explained; what lacks a part is said to.
template <class Arch, class A, class Q, class K, class V>
std::string explain(A const& a, view<Q, 4> const& q, K const& k, V const& v) {
    auto const shapes = check_explained(a, q, k, v);
    if constexpr (is_recurrent<A>)
        return explain_state<compute_type<Q, element_of_rows<K>, element_of_rows<V>>, Arch>(a, shapes);
    else {
        using T = compute_type<Q, element_of_rows<K>, element_of_rows<V>>;
        if constexpr (projection<decltype(a.project)>)
            return explain_on<T, Arch, operands<T, view<T const, 4>, view<T const, 4>, T>>(a, shapes);
        else return explain_on<T, Arch, operands<std::remove_const_t<Q>, K, V, T>>(a, shapes);
    }
}
}  // namespace driver

/// explain: what will run for these operands, and in which file it is: five lines, for people.
///
///     explain(spec, query, key, value)    explain(spec, x)    explain(spec, queries(x), memory(m))
///
/// Errors: shape_error or graph_error as attend would throw them for these operands.
template <class Arch = arch::best, attention_spec A, viewable Query, row_source Key, row_source Value>
std::string explain(A const& a, Query const& query, Key const& key, Value const& value) {
    if constexpr (!detail::is_well_formed_call<A, float>()) return {};
    else return driver::explain<Arch>(a, as_heads(fovea::detail::operand_of(query)), as_rows(key), as_rows(value));
}
template <class Arch = arch::best, attention_spec A, viewable Source>
std::string explain(A const& a, Source const& x) {
    return explain<Arch>(a, x, x, x);
}
template <class Arch = arch::best, attention_spec A, class Q, int QueryRank, class M, int MemoryRank>
std::string explain(A const& a, queries_input<Q, QueryRank> const& x, memory_input<M, MemoryRank> const& m) {
    return explain<Arch>(a, x.source, m.source, m.source);
}
template <class... Arguments>
std::string explain(ill_formed, Arguments const&...) {
    return {};
}

/// What is no operand: a sentence, and nothing explained.
template <attention_spec A, class... Arguments>
    requires(((detail::place_of<Arguments> == detail::place_in_call::operand && !row_source<Arguments const>) || ...))
std::string explain(A const&, Arguments const&...) {
    [[maybe_unused]] constexpr bool said = detail::are_operands<Arguments...>();
    return {};
}

}  // namespace fovea::FOVEA_SET
