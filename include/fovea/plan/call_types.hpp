// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the types of a call say of it, which its plan and its traversal both go by.
#pragma once

#include <fovea/expr/separate.hpp>
#include <fovea/plan/blocking.hpp>
#include <fovea/plan/call_plan.hpp>
#include <fovea/plan/normalizing.hpp>
#include <fovea/plan/score_parts.hpp>
#include <fovea/spec/concepts.hpp>
#include <fovea/spec/recurrence.hpp>

#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET::plan {

/// What the types of a call say of its scores: those of `spec`, of the queries and keys of `operands`; `QueryLanes` is
/// the arrangement of queries in lanes.
template <class T, class Arch, class Spec, class Operands, class QueryLanes = query_lanes_blocking<T, Arch>>
struct score_call {
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
};

/// What the types of every call say that computes weights, whether its keys are listed or not.
template <class T, class Arch, class Spec, class Operands>
struct call_types : score_call<T, Arch, Spec, Operands> {
    using normalizer = std::remove_const_t<decltype(Spec::normalize)>;
    using normalizing = plan::normalizing<normalizer, T>;
    static constexpr bool is_linear = linear_aggregator<std::remove_const_t<decltype(Spec::aggregate)>>;
    /// True where one key wins and its value is copied.
    static constexpr bool selects = normalizing::selects && !Spec::reweights && is_linear;
    /// True where a row of scores is read as a whole.
    static constexpr bool whole_rows =
        normalizing::whole_row || Spec::reweights_rows || Operands::looks_at_rows || (normalizing::selects && !selects);
    /// True where many rows can be normalized at once, a row in each lane.
    static constexpr bool normalizes_in_lanes =
        normalizing::takes_lanes && !row_dependent_normalizer<normalizer> && !Spec::reweights && !whole_rows;
};

/// What the types of a call with listed keys say of it.
template <class T, class Arch, class Spec, class Operands>
struct listed_call : call_types<T, Arch, Spec, Operands> {
    /// True where an expression reads the numbers of edges.
    static constexpr bool numbers_edges = uses<std::remove_const_t<decltype(Spec::score.pointwise)>, edge_t>
                                       || uses<std::remove_const_t<decltype(Spec::predicate)>, edge_t>
                                       || uses<std::remove_const_t<decltype(Spec::reweight)>, edge_t>
                                       || any_pair_uses<decltype(Spec::score.parts.pairs), edge_t>;

    /// Whether a traversal can run the call.
    static constexpr bool takes(traversal by) { return by == traversal::listed_keys; }
};

/// What the types of a call with a running state say of it; its specification is the attention itself.
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

}  // namespace fovea::FOVEA_SET::plan
