// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The plan of a dense call as a value: which traversal runs it, and over which blocks. Calls with listed keys or a
// running state have one traversal each and no plan; driver/run_call.hpp takes it by the type of the specification.
#pragma once

#include <fovea/core/bfloat16.hpp>
#include <fovea/core/paged.hpp>
#include <fovea/expr/analyze.hpp>
#include <fovea/plan/key_splits.hpp>
#include <fovea/plan/lower.hpp>
#include <fovea/plan/normalizing.hpp>
#include <fovea/plan/tile.hpp>
#include <fovea/simd/architecture.hpp>
#include <fovea/spec/concepts.hpp>
#include <fovea/spec/shapes.hpp>

#include <algorithm>
#include <string_view>
#include <type_traits>

namespace fovea::FOVEA_SET::plan {

enum class traversal {
    query_lanes,    // dense, a query in each lane
    key_lanes,      // dense, a key in each lane
    whole_rows,     // the same, keeping the scores of a few rows over all keys that they see
    split_keys,     // the same for few queries: each split of the keys by itself, then all merged
    listed_keys,    // the edges of a graph
    running_state,  // one query after the other
};

/// The blocks of a dense traversal: rows are queries of the heads that share keys.
struct blocking {
    index_t tile_rows = 0, panel_keys = 0;  // what a mask is classified for: full, mixed or empty
    index_t block_rows = 0, block_keys = 0;
};
template <class Shape>
constexpr blocking blocking_of{Shape::rows, Shape::panel, Shape::block_rows, Shape::block_keys};

/// How a call is run.
struct call_plan {
    traversal by;
    blocking blocks{};
    bool packs_keys = false;  // or they are read in place
    index_t tile_heads = 1;   // heads whose queries are rows of one tile
    index_t rows = 0;         // that a tile computes: fewer than it may have where queries are few
    index_t sums = 0;         // vectors that a product of scores keeps in registers
    key_splits splits{};      // of the keys of each head
};

/// What the types of a call say of it.
template <class T, class Arch, class Spec, class Operands>
struct dense_call {
    using number = T;
    using architecture = Arch;
    using spec = Spec;
    using operands = Operands;
    using parts = std::remove_cvref_t<decltype(Spec::score.parts)>;
    using normalizer = std::remove_const_t<decltype(Spec::normalize)>;
    using normalizing = plan::normalizing<normalizer, T>;
    static constexpr bool is_linear = linear_aggregator<std::remove_const_t<decltype(Spec::aggregate)>>;
    /// True where nothing is computed of the product: it may be -inf by itself, and is excluded by the mask alone.
    static constexpr bool is_bare_product = plan::is_bare_product<decltype(Spec::score.pointwise)>;
    static constexpr bool masks = !std::is_same_v<std::remove_const_t<decltype(Spec::predicate)>, always_t>;
    /// True where one key wins and its value is copied.
    static constexpr bool selects = normalizing::selects && !Spec::reweights && is_linear;
    /// True where a row of scores is read as a whole.
    static constexpr bool whole_rows =
        normalizing::whole_row || Spec::reweights_rows || Operands::looks_at_rows || (normalizing::selects && !selects);
    static constexpr bool may_split_keys = !whole_rows && is_linear && !selects;
    /// True where queries and keys are bfloat16 that is multiplied as it is stored, two features at a time.
    static constexpr bool multiplies_stored =
        arch::multiplies_bfloat16<Arch> && std::is_same_v<T, float>
        && std::is_same_v<std::remove_cvref_t<decltype(*Operands::query.data)>, bfloat16>
        && std::is_same_v<element_of_rows<decltype(Operands::key)>, bfloat16>;
    /// True where queries can be in lanes: the score is one product with keys and what is computed of it, rows can
    /// be normalized lane by lane, and features are of the type of the arithmetic or converted to it. What reads a
    /// table with a row for each query goes along the keys in memory.
    static constexpr bool may_take_query_lanes = [] {
        if constexpr (is_paged<decltype(Operands::key)> || is_paged<decltype(Operands::value)>) return false;
        else
            return !multiplies_stored
                && is_one_product<parts> && !reads_a_row_of_query<std::remove_cvref_t<decltype(Spec::score.pointwise)>>
                && !reads_a_row_of_query<std::remove_const_t<decltype(Spec::predicate)>> && normalizing::takes_lanes
                && !row_dependent_normalizer<normalizer> && !Spec::reweights && !Operands::looks_at_rows && is_linear;
    }();
};

/// The plan of a dense call of `queries` queries for each of `group` heads that share `keys` keys.
template <class T, class Arch, class Spec, class Operands>
call_plan make_dense_plan(index_t queries, index_t group, index_t keys, index_t features) {
    using call = dense_call<T, Arch, Spec, Operands>;
    index_t const rows = queries * group;
    using tile = plan::tile<T, Arch>;
    index_t const key_blocks = (keys + tile::block_keys - 1) / tile::block_keys;
    key_splits const splits(key_blocks, call::may_split_keys && rows > 0 && rows <= tile::block_rows);
    if constexpr (call::may_take_query_lanes) {
        using query_tile = lane_tile<T, Arch>;
        // Keys that would be split among threads are worth more than lanes that features leave empty.
        if (query_tile::suits(rows, splits.count() > 1 ? query_tile::lanes : features)) {
            call_plan how{traversal::query_lanes, blocking_of<query_tile>};
            how.tile_heads = query_tile::sharing(
                queries, group, keys, uses<std::remove_cvref_t<decltype(Spec::score.pointwise)>, q_idx_t, head_t>);
            index_t const vectors = query_tile::vectors_for(std::min(queries * how.tile_heads, query_tile::rows));
            how.rows = vectors * query_tile::lanes;
            how.sums = query_tile::mr * vectors;
            return how;
        }
    }
    call_plan how{call::whole_rows ? traversal::whole_rows : traversal::key_lanes, blocking_of<tile>};
    how.tile_heads = group;
    how.packs_keys = !call::may_take_query_lanes && rows > tile::rows;
    how.rows = tile::height_for(rows);
    how.sums = how.packs_keys ? tile::mr * tile::nv : 2 * tile::rows_in_place(how.rows);
    how.splits = splits;
    if (how.splits.count() > 1) how.by = traversal::split_keys;
    return how;
}

/// The files that run a plan.
struct files {
    std::string_view loop, products, rest;
};
constexpr files files_of(call_plan const& how) {
    switch (how.by) {
        case traversal::query_lanes:
            return {"driver/dense/lane_tile.hpp", "kernel/lane_products.hpp", "kernel/transform_lanes.hpp"};
        case traversal::listed_keys:
            return {"driver/graph/listed_loop.hpp", "kernel/head_sums.hpp", "kernel/pairs.hpp"};
        case traversal::running_state:
            return {"driver/recurrent/recurrent.hpp", "kernel/recurrence.hpp", "kernel/recurrence.hpp"};
        default:
            return {how.by == traversal::whole_rows   ? "driver/dense/whole_rows.hpp"
                    : how.by == traversal::split_keys ? "driver/dense/split_keys.hpp"
                                                      : "driver/dense/row_tile.hpp",
                    how.packs_keys ? "kernel/contract.hpp" : "kernel/contract_rows.hpp", "kernel/transform.hpp"};
    }
}

}  // namespace fovea::FOVEA_SET::plan
