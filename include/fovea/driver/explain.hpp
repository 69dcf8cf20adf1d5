// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The call explain(): what would run for some operands, as text.
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/diagnose.hpp>
#include <fovea/driver/call/operands.hpp>
#include <fovea/driver/call/row_runs.hpp>
#include <fovea/driver/run/executor.hpp>
#include <fovea/driver/run/workspace.hpp>
#include <fovea/kernel/product/product.hpp>
#include <fovea/plan/explain.hpp>
#include <fovea/plan/traversal.hpp>
#include <fovea/plan/work.hpp>
#include <fovea/simd/architecture.hpp>
#include <fovea/spec/call/arguments.hpp>
#include <fovea/spec/call/check_call.hpp>
#include <fovea/spec/call/well_formed.hpp>
#include <fovea/spec/recurrence.hpp>
#include <fovea/spec/shapes.hpp>

#include <string>
#include <vector>

namespace fovea::FOVEA_SET {

namespace driver {
inline std::string number(index_t x) { return std::to_string(x); }
inline std::string number(index_t x, char const* noun) {
    return fovea::detail::message_of({fovea::detail::counted(x, noun)});
}

/// "avx512, 16 x float32"
template <class T, class Arch>
std::string explain_vectors() {
    return std::string(Arch::name) + ", " + number(Arch::vector_bytes / static_cast<index_t>(sizeof(T))) + " x "
         + (sizeof(T) == 4 ? "float32" : "float64");
}

/// The blocks of a plan, and what a dense mask leaves of them; nothing for other calls.
struct blocks_left {
    plan::queries_and_keys of_block{};
    plan::counted_blocks counted{};
};
template <class Real, class A>
blocks_left count_blocks(A const& a, operand_shapes const& n, plan::call_plan const& how) {
    if constexpr (!plan::is_dense<A>) return {};
    else {
        auto const at_most = [&](index_t queries, index_t keys) {
            return plan::queries_and_keys{std::max<index_t>(std::min(queries / how.tile_heads, n.queries()), 1),
                                          std::max<index_t>(std::min(keys, n.keys()), 1)};
        };
        auto const of_block = at_most(how.blocks.block_rows, how.blocks.block_keys),
                   of_tile = at_most(how.blocks.tile_rows, how.blocks.panel_keys);
        return {of_block,
                plan::count_all_blocks<Real>(visible_pairs(a), fovea::detail::all_pairs(n), of_block, of_tile)};
    }
}

template <class A>
std::string explain_blocks(A const& a, blocks_left const& left) {
    std::string mask = describe(a.mask);
    if constexpr (fovea::detail::excludes_by_tensors<A>)
        mask += mask.empty() ? "-inf of a tensor that is added" : ", and -inf of a tensor that is added";
    auto const& [blocks, tiles] = left.counted;
    std::string text = (mask.empty() ? std::string("none") : mask) + ": of the blocks of "
                     + number(left.of_block.queries, "query") + " x " + number(left.of_block.keys, "key") + " "
                     + number(blocks.full) + " full, " + number(blocks.mixed) + " mixed, " + number(blocks.empty)
                     + " skipped" + (plan::differs_by_head<decltype(visible_pairs(a))> ? " over all heads" : "");
    if (tiles.full + tiles.empty > 0) {
        auto const percent = [&](index_t n) { return number((100 * n + tiles.all() / 2) / tiles.all()); };
        text += "; of the tiles of mixed blocks " + percent(tiles.empty) + " % are skipped, " + percent(tiles.full)
              + " % not masked";
    }
    return text;
}

/// A sentence for each thing about a call that is slow.
template <class T, class Arch, class A>
std::vector<std::string> find_slow(A const& a, operand_shapes const& n, plan::call_plan const& how,
                                   blocks_left const& left) {
    std::vector<std::string> sentences;
    if constexpr (plan::is_dense<A>) {
        auto const spec = plan::lower_attention(a);
        constexpr index_t lanes = Arch::vector_bytes / static_cast<index_t>(sizeof(T));
        if (how.by == plan::traversal::query_lanes) {
            plan::explain_gathers<q_idx_t>(spec.score.pointwise, lanes, sentences);
            plan::explain_gathers<q_idx_t>(spec.predicate, lanes, sentences);
        } else {
            plan::explain_gathers<kv_idx_t>(spec.score.pointwise, lanes, sentences);
            plan::explain_gathers<kv_idx_t>(spec.predicate, lanes, sentences);
        }
        plan::explain_sums(spec.score.parts.pairs, how, n.query[3], n.key[3], sentences);
        plan::explain_undecided<T>(visible_pairs(a), fovea::detail::all_pairs(n), left.counted, sentences);
        plan::explain_whole_rows(how, n.keys(), static_cast<index_t>(sizeof(T)), sentences);
    }
    return sentences;
}

template <class A>
std::string explain_score(A const& a, operand_shapes const& n, plan::call_plan const& how) {
    if constexpr (is_recurrent<A>) return "queries and keys are mapped once, their product runs over the state";
    else return plan::explain_score(plan::lower_attention(a).score, how, n.query[3], n.key[3]);
}
template <class A>
std::string explain_mask(A const& a, blocks_left const& left) {
    if constexpr (is_recurrent<A>)
        return is_causal_attention<A> ? describe(a.mask) + ": in the order of the keys"
                                      : "none: all keys come before the first query";
    else if constexpr (plan::lists_keys<A>) return describe(a.mask) + ": keys are listed, not tested";
    else return explain_blocks(a, left);
}
template <class A>
std::string explain_normalizer(A const& a) {
    if constexpr (is_recurrent<A>)
        return describe(a.normalize) + (divides_by_sum<A> ? ": the sum of the keys is kept beside the state" : "");
    else return plan::explain_normalizer(a.normalize);
}

/// The traversal of a plan as text.
template <class Arch>
std::string explain_traversal(plan::call_plan const& how, operand_shapes const& n) {
    using plan::traversal;
    if (how.by == traversal::running_state)
        return "a state of " + number(n.key[3]) + " x " + number(n.features()) + " for each of "
             + number(n.batches() * n.key_heads(), "head") + " of keys, " + number(how.steps_per_pass, "key")
             + " in a pass";
    if (how.by == traversal::listed_keys)
        return std::string("one query at a time, heads innermost, normalized ")
             + (how.heads_in_lanes ? "a head in each lane" : "one after the other");
    std::string text = "tiles of " + number(how.rows, "query") + " x " + number(how.blocks.panel_keys, "key") + ", a "
                     + (how.by == traversal::query_lanes ? "query" : "key") + " in each lane, "
                     + (how.matrix_unit ? std::string("products by the matrix unit")
                                        : number(how.sums) + " of " + number(Arch::registers) + " registers hold sums");
    if (how.by == traversal::split_keys) text += "; the keys in " + number(how.splits.count(), "part") + ", merged";
    return text;
}

/// Whether queries in place are rounded for any product of a score.
template <class Call, class Products>
inline constexpr bool rounds_for_any = false;
template <class Call, class... Parts>
inline constexpr bool rounds_for_any<Call, boost::hana::tuple<Parts...>> = (rounds_queries_of<Call, Parts> || ...);

/// "precision   q8: scores are sums of integers", or why that is not so.
template <class Call>
std::string explain_rounding(plan::call_plan const& how) {
    auto const in_float = [](std::string const& why) { return "precision   float arithmetic: " + why + "\n"; };
    if constexpr (!rounds_for_any<Call, std::remove_const_t<decltype(Call::parts::products)>>) {
        return in_float("the score is no product with keys in blocks of integers");
    } else {
        if (how.by == plan::traversal::query_lanes || how.keys != plan::reading::in_place)
            return in_float("many queries have numbers decoded once");
        return "precision   q8: queries are rounded to blocks, products are sums of integers\n";
    }
}

/// "precision   ... by the matrix unit: 6 products of parts for scores, 6 for values", or why that is not so; nothing
/// where it is not asked for.
template <class T, class Arch, class Operands, class A>
std::string explain_precision(plan::call_plan const& how, bool may_use_unit) {
    if constexpr (!asks_for_precision<sum_of_values<A>>) return "";
    else if constexpr (rounds_queries<sum_of_values<A>>)
        return explain_rounding<plan::call_of<T, Arch, A, Operands>>(how);
    else {
        using call = plan::call_of<T, Arch, A, Operands>;
        auto const in_float = [](std::string const& why) { return "precision   float arithmetic: " + why + "\n"; };
        if (for_size) return in_float("the unit is compiled for size");
        if (!may_use_unit) return in_float("this process may not use a matrix unit");
        if (!arch::has_matrix_unit<Arch>) return in_float(std::string(Arch::name) + " has no matrix unit");
        if constexpr (!call::may_take_query_lanes) {
            return in_float("the score or the normalizer needs a key in each lane");
        } else if constexpr (!call::has_parts) {
            return in_float("an operand is not stored as numbers that have such parts");
        } else if constexpr (!call::uses_matrix_unit) {
            return in_float("the score is no product of the numbers of query and key");
        } else {
            if (!how.matrix_unit) return in_float("for few queries a key is in each lane");
            using parts = typename call::query_lanes::parts;
            return "precision   " + sum_of_values<A>::precision_format::name() + " by the matrix unit: "
                 + number(kernel::products_of_parts<parts::key, parts::query, parts::of_scores>, "product")
                 + " of parts for scores, "
                 + number(kernel::products_of_parts<parts::value, parts::weight, parts::of_values>) + " for values\n";
        }
    }
}

/// The bytes that a call reads and writes, each once.
struct bytes_of_call {
    double read, written;
};
template <class A, class Call>
bytes_of_call count_bytes(A const& a, Call const& call) {
    return {
        plan::count_bytes([&](auto const& visit) { for_each_array_read(a, call.query, call.key, call.value, visit); }),
        std::apply(
            [&](auto const&... output) {
                auto const result = result_shape(a, call.shapes, call.query.extents);  // that may be assumed
                return (plan::count_bytes(view(call.result.data, result)) + ... + plan::count_bytes(output.target));
            },
            call.outputs())};
}

template <class T, class Arch, class Operands, class A>
std::string explain_on(A const& a, operand_shapes const& n, index_t keys_per_run, index_t values_per_run,
                       index_t key_alignment, bool may_use_unit, bytes_of_call const& bytes) {
    auto const how = plan::make_plan<T, Arch, A, Operands>(
        {n.queries(), n.group(), n.keys(), n.query[3], n.features(), keys_per_run, values_per_run, key_alignment});
    auto const left = count_blocks<T>(a, n, how);
    auto const each = plan::count_operations(a, n);
    double const operations =
        plan::count_pairs(a, n, 1 - left.counted.empty()) * (each.score + each.values) + plan::count_projections(a, n);
    std::string text = "score       " + driver::explain_score(a, n, how) + "\nmask        "
                     + driver::explain_mask(a, left) + "\nnormalize   " + driver::explain_normalizer(a)
                     + "\nloop        " + std::string(plan::files_of(how).loop) + " on " + explain_vectors<T, Arch>()
                     + ": " + explain_traversal<Arch>(how, n) + "\n" + plan::explain_size(how)
                     + explain_precision<T, Arch, Operands, A>(how, may_use_unit) + "work        "
                     + plan::explain_work(operations, bytes.read, bytes.written) + "\n";
    for (auto const& sentence : find_slow<T, Arch>(a, n, how, left)) text += "slow        " + sentence + "\n";
    return text;
}

/// The operands of a call as its plan sees them.
template <class A, class Call>
using operands_of_call = std::conditional_t<
    projection<decltype(std::declval<A const&>().project)>,
    operands<typename Call::number, view<typename Call::number const, 4>, view<typename Call::number const, 4>,
             typename Call::result_element, typename Call::outputs_type>,
    operands<typename Call::query_element, decltype(std::declval<Call const&>().key),
             decltype(std::declval<Call const&>().value), typename Call::result_element, typename Call::outputs_type>>;

template <class Arch, class A, class Call>
std::string explain_bound(A const& a, Call const& call, bool may_use_unit) {
    using T = typename Call::number;
    using all = operands_of_call<A, Call>;
    auto const& shapes = call.shapes;
    std::string const first = "attention   " + fovea::text(a) + "\n";
    auto const bytes = count_bytes(a, call);
    if constexpr (projection<decltype(a.project)>)
        return first
             + explain_on<T, Arch, all>(a, shapes, shapes.keys(), shapes.keys(), cache_line, may_use_unit, bytes);
    else
        return first
             + explain_on<T, Arch, all>(a, shapes, rows_per_run(call.key), rows_per_run(call.value),
                                        row_alignment(call.key), may_use_unit, bytes);
}

/// A call that has been bound, with its result or one that is assumed, on the architecture that would run it.
template <class Arch, class A, class Call>
std::string explain_call(A const& a, Call const& call) {
    return kernel::on_usable<Arch, typename Call::number, asked_parts_of<A>, typename Call::query_element>(
        [&]<class Usable>(std::type_identity<Usable>) {
            return explain_bound<Usable>(a, call, std::is_same_v<Usable, Arch>);
        });
}
}  // namespace driver

/// explain: what will run for these operands, in which file it is, and what it computes, reads and writes: six lines,
/// for people, and one for each thing that is slow, with what would mend it; in units that are compiled for size
/// (FOVEA_SIZE) one for what they leave out.
///
///     explain(spec, query, key, value)    explain(spec, x)    explain(spec, queries(x), memory(m))
///     explain(as attend is called)        with the result and outputs too, of which nothing is written
///     explain<arch::avx2>(spec, x)        for another instruction set than that of the unit
///
/// Without a result, one of the type of the arithmetic is assumed. Cost: the intervals of the mask over its blocks,
/// over the tiles of 64 mixed ones, and of 20000 pairs where a mask decides few; no element of an operand is read.
/// Errors: shape_error or graph_error as attend would throw them for these arguments.
template <class Arch = arch::best, attention_spec A, class... Arguments>
std::string explain(A const& a, Arguments&&... arguments) {
    if constexpr (detail::is_explained_call<Arguments...>()) {
        auto const call = bind_call(a, arguments...);
        if constexpr (!is_ill_formed<decltype(call)>) return driver::explain_call<Arch>(a, call);
        else return {};
    } else return {};
}
/// Arguments before the specification, in the order of a call, change nothing of the text.
template <class Arch = arch::best, class Before, class... Arguments>
    requires(executor<std::remove_cvref_t<Before>> || std::same_as<Before, workspace&>)
         && (!detail::misordered_call<Before, Arguments...>)
std::string explain(Before&&, Arguments&&... arguments) {
    return explain<Arch>(std::forward<Arguments>(arguments)...);
}
/// A ragged batch has sizes of each sequence: a sentence, and nothing explained.
template <class Arch = arch::best, class Ragged, class... Arguments>
    requires(detail::turn_of<Ragged> > 1) && (!requires { typename Ragged::explained_by_itself; })
         && (!detail::misordered_call<Ragged const&, Arguments...>)
std::string explain(Ragged const&, Arguments&&...) {
    static_assert(never<Ragged>,
                  "fovea: ragged(...) runs one call for each sequence: explain that of one sequence, without ragged");
    return {};
}
/// Arguments in another order, or without a specification: a sentence, and nothing explained.
template <class Arch = arch::best, class... Arguments>
    requires detail::misordered_call<Arguments...>
std::string explain(Arguments&&...) {
    detail::refuse_order<Arguments...>();
    return {};
}
template <class Arch = arch::best, class... Arguments>
std::string explain(ill_formed, Arguments const&...) {
    return {};
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
