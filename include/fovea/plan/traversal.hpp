// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The traversal of a call and its blocking: nothing else decides that. driver/run_call.hpp follows the plan, explain()
// prints it. It depends on the types of the call and on its sizes, never on the number of threads.
#pragma once

#include <fovea/expr/analyze.hpp>
#include <fovea/expr/separate.hpp>
#include <fovea/plan/blocking.hpp>
#include <fovea/plan/call_plan.hpp>
#include <fovea/plan/lower.hpp>
#include <fovea/plan/lowered_spec.hpp>
#include <fovea/plan/normalizing.hpp>
#include <fovea/plan/score_parts.hpp>
#include <fovea/plan/variants.hpp>
#include <fovea/simd/architecture.hpp>
#include <fovea/spec/concepts.hpp>
#include <fovea/spec/fixed_order.hpp>
#include <fovea/spec/in_parts.hpp>
#include <fovea/spec/recurrence.hpp>
#include <fovea/spec/shapes.hpp>

#include <algorithm>
#include <string_view>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET::plan {

/// Properties of the scores of a call, by its types: those of `spec`, of the queries and keys of `operands`;
/// `QueryLanes` is the blocking of queries in lanes.
template <class T, class Arch, class Spec, class Operands, class QueryLanes = query_lanes_blocking<T, Arch>>
struct score_types {
    using number = T;
    using architecture = Arch;
    using spec = Spec;
    using operands = Operands;
    using parts = std::remove_cvref_t<decltype(Spec::score.parts)>;
    using query_element = std::remove_cvref_t<decltype(*Operands::query.data)>;
    using key_element = element_of_rows<decltype(Operands::key)>;
    using query_lanes = QueryLanes;
    /// True where nothing is computed of the product: it may be -inf by itself, and is excluded by the mask alone.
    static constexpr bool is_bare_product = plan::is_bare_product<decltype(Spec::score.pointwise)>;
    static constexpr bool masks = !std::is_same_v<std::remove_const_t<decltype(Spec::predicate)>, always_t>;
    /// True where tiles with a key in each lane take many rows: then keys are packed for them.
    static constexpr bool packs_keys = true;
    /// True where queries are rounded for keys that are blocks of integers (spec/in_parts.hpp).
    static constexpr bool rounds_queries = false;
    /// True where products can have queries in lanes: there is one, with keys, and features are of the type of the
    /// arithmetic or converted to it.
    static constexpr bool product_takes_query_lanes =
        compiled.query_lanes && is_one_product<parts>
        && (!loaded_rows<std::remove_const_t<decltype(Operands::key)>> || !any_reads_features<decltype(parts::keys)>);
    /// True where rows of tables of pairs are transposed for it: not by gradients, which add to them.
    static constexpr bool transposes_tables = false;
    /// True where sums have an order that depends on a query and its keys alone.
    static constexpr bool fixed_order = false;
    /// True where keys in place are then transposed in registers, for few rows.
    static constexpr bool takes_columns = !multiplies_as_stored<T, Arch, query_element, key_element>;
    /// True where scores can, too, as they are read: a table with a row for each query is read along the keys.
    static constexpr bool scores_take_query_lanes =
        product_takes_query_lanes && !reads_a_row_of_query<std::remove_cvref_t<decltype(Spec::score.pointwise)>>
        && !reads_a_row_of_query<std::remove_const_t<decltype(Spec::predicate)>>;
};

/// Properties of every call that computes weights, by its types, whether its keys are listed or not.
template <class T, class Arch, class Spec, class Operands>
struct call_types : score_types<T, Arch, Spec, Operands> {
    using normalizer = std::remove_const_t<decltype(Spec::normalize)>;
    using normalizing = plan::normalizing<normalizer, T>;
    static constexpr bool is_linear = linear_aggregator<std::remove_const_t<decltype(Spec::aggregate)>>;
    /// True where one key wins and its value is copied.
    static constexpr bool selects = normalizing::selects && !Spec::reweights && is_linear;
    /// True where a row of scores is read as a whole.
    static constexpr bool whole_rows =
        normalizing::whole_row || Spec::reweights_rows || Operands::looks_at_rows || (normalizing::selects && !selects);
    /// True where many rows can be normalized at once, a row in each lane.
    static constexpr bool normalizes_in_lanes = normalizing::takes_lanes
                                             && plan::normalizing<normalizer, double>::folds_alike && !Spec::reweights
                                             && !whole_rows;
};

/// Properties of a call with listed keys, by its types.
template <class T, class Arch, class Spec, class Operands>
struct listed_call : call_types<T, Arch, Spec, Operands> {
    static constexpr bool normalizes_in_lanes =
        call_types<T, Arch, Spec, Operands>::normalizes_in_lanes
        && !row_dependent_normalizer<std::remove_const_t<decltype(Spec::normalize)>>;
    /// True where an expression reads the numbers of edges.
    static constexpr bool numbers_edges = uses<std::remove_const_t<decltype(Spec::score.pointwise)>, edge_t>
                                       || uses<std::remove_const_t<decltype(Spec::predicate)>, edge_t>
                                       || uses<std::remove_const_t<decltype(Spec::reweight)>, edge_t>
                                       || any_pair_uses<decltype(Spec::score.parts.pairs), edge_t>;

    /// Whether a traversal can run the call.
    static constexpr bool takes(traversal by) { return by == traversal::listed_keys; }
};

/// Properties of a call with a running state, by its types; its specification is the attention itself.
template <class T, class Arch, class A, class Operands>
struct state_call {
    using number = T;
    using architecture = Arch;
    using spec = A;
    using operands = Operands;
    using aggregate = std::remove_cvref_t<decltype(core_of(std::declval<A const&>().aggregate))>;
    using term = decltype(fovea::detail::scaled_product(std::declval<A const&>().score.expression(), unit{}));
    static constexpr bool gated = aggregate::gated, delta_rule = aggregate::corrected;
    static constexpr bool causal = is_causal_attention<A>, keeps_key_sum = divides_by_sum<A>;
    static constexpr int vectors = Arch::registers >= 32 ? 2 : 1;
    static constexpr index_t width = vectors * Arch::vector_bytes / static_cast<index_t>(sizeof(T));  // of a panel
    static constexpr index_t steps_at_once = 16;  // positions whose operands are mapped and converted together
    static constexpr int most_per_pass = 4;       // steps, or queries, in one pass over the state

    /// Several keys update the state in one pass where none needs what was read of the state after the one before it,
    /// and where there are registers for what `group` heads of queries read after each.
    static constexpr index_t steps_per_pass(index_t group) {
        return delta_rule || (causal && group > 1) ? 1 : most_per_pass;
    }

    /// Whether a traversal can run the call.
    static constexpr bool takes(traversal by) { return by == traversal::running_state; }
};

/// Whether tiles with a query in each lane read rows of this type in place: a run of them has to hold whole tiles, and
/// runs that are shorter than a block cost as much as a copy of it, which many rows share.
template <class Rows, class Tile>
constexpr reading reading_in_query_lanes(index_t rows, index_t features, index_t per_run, index_t all,
                                         index_t alignment = cache_line) {
    if (!std::is_same_v<element_of_rows<Rows>, typename Tile::element> || loaded_rows<std::remove_const_t<Rows>>
        || !Tile::reads_in_place(features, alignment))
        return reading::copied;
    bool const whole = per_run >= all || (per_run % Tile::granule == 0 && rows <= Tile::block_rows);
    return whole ? reading::in_place : reading::copied;
}

/// True where a score is computed of one product, of all features of a query and a key as they are.
template <class Parts>
inline constexpr bool multiplies_rows = [] {
    if constexpr (is_one_product<Parts> && take_all_features<decltype(Parts::products)>) {
        using multiplied = std::remove_cvref_t<decltype(hana::at_c<0>(std::declval<Parts>().products))>;
        return std::is_same_v<std::remove_cvref_t<decltype(multiplied::of_query)>, q_t>
            && std::is_same_v<std::remove_cvref_t<decltype(multiplied::of_key)>, k_t>;
    } else {
        return false;
    }
}();

/// Properties of a dense call, by its types.
template <class T, class Arch, class Spec, class Operands>
struct dense_call : call_types<T, Arch, Spec, Operands> {
    using types = call_types<T, Arch, Spec, Operands>;
    using typename types::key_element;
    using typename types::parts;
    using typename types::query_element;
    using types::is_linear, types::selects, types::whole_rows;
    /// True where sums have an order that depends on a query and its keys alone, whatever else is in the call: keys are
    /// in lanes, packed and never split, and their blocks are taken as a whole.
    static constexpr bool fixed_order = asks_for_fixed_order<std::remove_const_t<decltype(Spec::aggregate)>>;
    static constexpr bool may_split_keys = compiled.split_keys && !whole_rows && is_linear && !selects && !fixed_order;
    using value_element = element_of_rows<decltype(Operands::value)>;
    using result_element = std::remove_cvref_t<decltype(*Operands::result.data)>;
    static constexpr bool transposes_tables = true;
    /// True where queries can be in lanes: rows can be normalized lane by lane, and tables are those that are
    /// transposed.
    static constexpr bool may_take_query_lanes =
        types::product_takes_query_lanes && !reads_along_keys<std::remove_cvref_t<decltype(Spec::score.pointwise)>>
        && !reads_along_keys<std::remove_const_t<decltype(Spec::predicate)>> && types::normalizes_in_lanes && is_linear
        && !multiplies_as_stored<T, Arch, query_element, key_element> && !fixed_order;
    /// How many parts of numbers the specification asks for (spec/in_parts.hpp); 0 where it does not.
    static constexpr int asked_parts = fovea::asked_parts<std::remove_const_t<decltype(Spec::aggregate)>>;
    static constexpr bool rounds_queries = fovea::rounds_queries<std::remove_const_t<decltype(Spec::aggregate)>>;
    /// The elements that rows are read as: numbers of type T where they are loaded.
    template <class Rows>
    using read_element = std::conditional_t<loaded_rows<std::remove_const_t<Rows>>, T, element_of_rows<Rows>>;
    /// True where a matrix unit multiplies operands as they are read, or their parts.
    static constexpr bool has_parts =
        multiplies_in_matrix_unit<T, Arch, asked_parts, query_element, read_element<decltype(Operands::key)>,
                                  read_element<decltype(Operands::value)>>;
    /// True where the products are those of a matrix unit: of the numbers of a query and a key, and of values and
    /// weights.
    static constexpr bool uses_matrix_unit = may_take_query_lanes && has_parts && multiplies_rows<parts>;
    using query_lanes = std::conditional_t<
        uses_matrix_unit,
        matrix_unit_blocking<T, Arch, bfloat16,
                             parts_for<asked_parts, query_element, read_element<decltype(Operands::key)>,
                                       read_element<decltype(Operands::value)>, result_element>>,
        query_lanes_blocking<T, Arch>>;
    /// Many rows have queries in lanes, which read keys as they lie.
    static constexpr bool packs_keys = !may_take_query_lanes;
    /// Keys that share a row of packed values: two where these are multiplied as they are stored. Weights lose
    /// precision by it, so results must be stored with no more.
    static constexpr index_t keys_per_row =
        is_linear && multiplies_as_stored<T, Arch, value_element, result_element> ? 2 : 1;

    /// How values with a feature in each lane are read: in place if of whole vectors, not to be converted for many
    /// rows.
    static constexpr reading values_in_key_lanes(call_sizes const& n, bool few) {
        constexpr index_t lanes = key_lanes_blocking<T, Arch>::lanes;
        bool const stored_so =
            std::is_same_v<value_element, T> && evenly_spaced<std::remove_const_t<decltype(Operands::value)>>;
        bool const one_run = n.values_per_run >= n.keys;
        if (fixed_order)  // rows that are loaded, a few at a time, or added in pairs would divide the sums
            few = few && keys_per_row == 1 && !loaded_rows<std::remove_const_t<decltype(Operands::value)>>;
        bool const fits = n.value_features % (keys_per_row * lanes) == 0 && n.value_features > 0;
        return fits && (few ? one_run || n.values_per_run % keys_per_row == 0 : one_run && stored_so)
                 ? reading::in_place
                 : reading::packed;
    }

    /// Whether a traversal can run the call; of several that can, the plan chooses one by the sizes.
    static constexpr bool takes(traversal by) {
        return by == traversal::query_lanes ? may_take_query_lanes
             : by == traversal::whole_rows  ? whole_rows
             : by == traversal::split_keys  ? may_split_keys
                                            : by == traversal::key_lanes && !whole_rows;
    }
};

/// The plan of scores alone, and of every call whose queries are not in lanes: a key in each lane.
template <class Call>
call_plan make_key_lanes_plan(call_sizes const& n) {
    using tile = key_lanes_blocking<typename Call::number, typename Call::architecture>;
    index_t const rows = n.queries * n.group;
    bool const few = Call::fixed_order ? Call::takes_columns && rows <= tile::most_rows_in_order
                                       : !Call::packs_keys || rows <= tile::rows;
    call_plan plan{traversal::key_lanes, block_sizes_of<tile>};
    plan.fixed_order = Call::fixed_order;
    plan.tile_heads = n.group;
    plan.keys = few ? reading::in_place : reading::packed;
    plan.rows = few ? tile::width_in_place(std::min<index_t>(rows, tile::rows)) : tile::height_for(rows);
    plan.sums = few ? 2 * tile::rows_in_place(plan.rows) : tile::mr * tile::nv;
    return plan;
}

/// The plan of scores with a query in each lane.
template <class Call>
call_plan make_query_lanes_plan(call_sizes const& n) {
    using lanes = typename Call::query_lanes;
    using pointwise = std::remove_cvref_t<decltype(Call::spec::score.pointwise)>;
    call_plan plan{traversal::query_lanes, block_sizes_of<lanes>};
    plan.tile_heads = lanes::sharing(n.queries, n.group, n.keys, uses<pointwise, q_idx_t, head_t>);
    index_t const rows = n.queries * plan.tile_heads;
    plan.keys = reading_in_query_lanes<decltype(Call::operands::key), lanes>(rows, n.features, n.keys_per_run, n.keys,
                                                                             n.key_alignment);
    plan.rows = lanes::width_for(std::min(rows, lanes::rows));
    plan.matrix_unit = lanes::packs_values;
    plan.sums = lanes::packs_values ? 0 : lanes::sums_for(plan.rows);
    return plan;
}

/// The plan of a dense call.
template <class T, class Arch, class Spec, class Operands>
FOVEA_CONTROL call_plan make_dense_plan(call_sizes const& n) {
    using call = dense_call<T, Arch, Spec, Operands>;
    index_t const rows = n.queries * n.group, keys = n.keys;
    using tile = plan::key_lanes_blocking<T, Arch>;
    index_t const key_blocks = ceil_div(keys, tile::block_keys);
    key_splits const splits(key_blocks, call::may_split_keys && rows > 0 && rows <= tile::block_rows);
    if constexpr (call::may_take_query_lanes) {
        using query_tile = typename call::query_lanes;
        // Keys that would be split among threads are worth more than lanes that features leave empty.
        if (query_tile::suits(rows, splits.count() > 1 ? query_tile::lanes : n.features)) {
            auto plan = make_query_lanes_plan<call>(n);
            plan.values = query_tile::packs_values
                            ? reading::packed
                            : reading_in_query_lanes<decltype(Operands::value), query_tile>(
                                  n.queries * plan.tile_heads, n.value_features, n.values_per_run, keys);
            return plan;
        }
    }
    auto plan = make_key_lanes_plan<call>(n);
    if (call::whole_rows) plan.by = traversal::whole_rows;
    plan.values = call::values_in_key_lanes(n, plan.keys == reading::in_place);
    plan.splits = splits;
    if (plan.splits.count() > 1) plan.by = traversal::split_keys;
    return plan;
}

namespace detail {
template <class T, class Arch, class A, class Operands>
constexpr auto call_of() {
    if constexpr (is_recurrent<A>) return std::type_identity<state_call<T, Arch, A, Operands>>{};
    else {
        using spec = decltype(lower_attention(std::declval<A const&>()));
        if constexpr (lists_keys<A>) return std::type_identity<listed_call<T, Arch, spec, Operands>>{};
        else return std::type_identity<dense_call<T, Arch, spec, Operands>>{};
    }
}
}  // namespace detail

/// Properties of a call, by its types: a dense_call, listed_call or state_call.
template <class T, class Arch, attention_spec A, class Operands>
using call_of = typename decltype(detail::call_of<T, Arch, A, Operands>())::type;

/// The plan of a call.
template <class T, class Arch, attention_spec A, class Operands>
call_plan make_plan(call_sizes const& n) {
    using call = call_of<T, Arch, A, Operands>;
    if constexpr (call::takes(traversal::running_state)) {
        call_plan plan{traversal::running_state};
        plan.steps_per_pass = call::steps_per_pass(n.group);
        return plan;
    } else if constexpr (call::takes(traversal::listed_keys)) {
        call_plan plan{traversal::listed_keys};
        plan.heads_in_lanes = call::normalizes_in_lanes;
        return plan;
    } else {
        return make_dense_plan<T, Arch, typename call::spec, Operands>(n);
    }
}

/// The files that run a plan.
struct files {
    std::string_view loop, products, rest;
};
constexpr files files_of(call_plan const& plan) {
    switch (plan.by) {
        case traversal::query_lanes:
            return {"driver/dense/query_lanes_scores.hpp",
                    plan.matrix_unit ? "kernel/product/amx_product.hpp" : "kernel/product/lane_products.hpp",
                    "kernel/transform.hpp"};
        case traversal::listed_keys:
            return {"driver/graph/listed_loop.hpp", "kernel/head_sums.hpp", "kernel/pairs.hpp"};
        case traversal::running_state:
            return {"driver/recurrent/recurrent.hpp", "driver/recurrent/recurrence.hpp",
                    "driver/recurrent/recurrence.hpp"};
        default:
            return {plan.by == traversal::whole_rows   ? "driver/dense/pass/whole_rows.hpp"
                    : plan.by == traversal::split_keys ? "driver/dense/pass/split_keys.hpp"
                                                       : "driver/dense/key_lanes_scores.hpp",
                    plan.keys == reading::packed ? "driver/call/products.hpp"
                    : plan.fixed_order           ? "kernel/product/contract_columns.hpp"
                                                 : "kernel/product/contract_rows.hpp",
                    "kernel/transform.hpp"};
    }
}

}  // namespace fovea::FOVEA_SET::plan
