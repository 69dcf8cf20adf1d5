// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is slow about a dense call, and what would mend it: a sentence for each.
#pragma once

#include <fovea/core/counter_random.hpp>
#include <fovea/expr/bound.hpp>
#include <fovea/expr/print.hpp>
#include <fovea/plan/call_plan.hpp>
#include <fovea/plan/explain.hpp>
#include <fovea/plan/index_terms.hpp>
#include <fovea/plan/score_parts.hpp>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

namespace fovea::FOVEA_SET::plan {

namespace detail {
/// True where an index goes one element on, or back, from one lane to the next, as far as no bound holds it.
template <class E, class Lane>
inline constexpr bool steps_with = std::is_same_v<E, Lane>;
template <class A, class B, class Lane>
inline constexpr bool steps_with<node<operations::plus, A, B>, Lane> =
    (steps_with<A, Lane> && !uses<B, Lane>) || (steps_with<B, Lane> && !uses<A, Lane>);
template <class A, class B, class Lane>
inline constexpr bool steps_with<node<operations::minus, A, B>, Lane> = steps_with<node<operations::plus, A, B>, Lane>;
template <class A, class B, class Lane>
inline constexpr bool steps_with<node<operations::min, A, B>, Lane> = steps_with<node<operations::plus, A, B>, Lane>;
template <class A, class B, class Lane>
inline constexpr bool steps_with<node<operations::max, A, B>, Lane> = steps_with<node<operations::plus, A, B>, Lane>;

/// How the elements of a table lie that a vector of lanes reads.
enum class lie { side_by_side, in_another_axis, apart };
template <class Lane, class... Indices>
constexpr lie how_they_lie() {
    constexpr int used = (0 + ... + int{uses<Indices, Lane>}), stepped = (0 + ... + int{steps_with<Indices, Lane>});
    using last = std::tuple_element_t<sizeof...(Indices) - 1, std::tuple<Indices...>>;
    if constexpr (used == 0 || (used == 1 && steps_with<last, Lane>)) return lie::side_by_side;
    else return used == 1 && stepped == 1 ? lie::in_another_axis : lie::apart;
}

/// True where an expression is read once for each query or key, and not for each pair.
template <class E>
inline constexpr bool is_read_before = is_index_term<side::query, E> || is_index_term<side::key, E>;

/// Calls f with each read of a table for each pair whose elements do not lie side by side, and how they lie.
template <class Lane, class E, class F>
void for_each_gather(E const&, F const&) {}
template <class Lane, class T, int Rank, class... Indices, class F>
void for_each_gather(node<at_operation, parameter<T, Rank>, Indices...> const& e, F const& f) {
    if constexpr (sizeof...(Indices) > 0 && !is_read_before<node<at_operation, parameter<T, Rank>, Indices...>>)
        if constexpr (constexpr lie how = how_they_lie<Lane, Indices...>(); how != lie::side_by_side) f(e, how);
}
template <class Lane, class Operation, class... Children, class F>
void for_each_gather(node<Operation, Children...> const& e, F const& f) {
    if constexpr (!is_read_before<node<Operation, Children...>>)
        with_children(e, [&](auto const&... children) { (for_each_gather<Lane>(children, f), ...); });
}

/// The operations of an expression.
template <class E>
inline constexpr index_t operations_in = 0;
template <class Operation, class... Children>
inline constexpr index_t operations_in<node<Operation, Children...>> = (1 + ... + operations_in<Children>);
}  // namespace detail

/// "param[kv_idx, q_idx] is read element by element: ..." for the reads of an expression in vectors along a lane.
template <class Lane, class E>
void explain_gathers(E const& e, index_t lanes, std::vector<std::string>& sentences) {
    detail::for_each_gather<Lane>(e, [&](auto const& read, detail::lie how) {
        std::string const name(Lane::name.view());
        sentences.push_back(print(read) + " is read element by element for each pair, " + std::to_string(lanes)
                            + " loads where a vector is 1: "
                            + (how == detail::lie::in_another_axis
                                   ? "with the index that has " + name + " last, it would be read in vectors"
                                   : "elements for adjacent " + name
                                         + " are not adjacent; a table by (q_idx, kv_idx), made before, would be"));
    });
}

/// The sums for each pair of a lowered score, but squared distances over few features, of which a product costs as
/// much.
template <class Pairs>
void explain_sums(Pairs const& pairs, call_plan const& how, index_t features, index_t key_features,
                  std::vector<std::string>& sentences) {
    for_each_part(pairs, [&]<class Pair>(Pair const& pair) {
        if constexpr (Pair::sums_squares) {
            if (how.keys != reading::packed && pair.over.of(features, key_features).count >= least_multiplied_features)
                sentences.push_back("sum(" + print(pair.body) + ") is added up for each pair: with more than "
                                    + std::to_string(how.blocks.tile_rows)
                                    + " queries for the same keys, it is made of a matrix product");
        } else {
            constexpr index_t n = detail::operations_in<std::remove_cvref_t<decltype(pair.body)>> + 1;
            sentences.push_back("sum(" + print(pair.body) + ") is added up for each pair, with " + std::to_string(n)
                                + " operations for each feature where a matrix product has 1: "
                                + (uses<std::remove_cvref_t<decltype(pair.body)>, q_idx_t, kv_idx_t>
                                       ? "the products with each vector of its table are one, and a bias of them what "
                                         "belongs to a pair: "
                                         "how_to/relative_positions.md"
                                       : "factors of q times factors of k, and square(q - k), are products"));
        }
    });
}

/// About how many of 100 pairs a condition shows, from some that are drawn in the first batch element and head.
template <class Real, class Predicate>
index_t visible_percent(Predicate const& predicate, box const& all) {
    constexpr index_t draws = 20000;
    index_t seen = 0;
    box one = all;
    one.batch = one.head = {0, 0};
    for (index_t i = 0; i < draws; ++i) {
        auto const below = [&](index_t n, index_t which) {
            return interval<index_t>(static_cast<index_t>(uniform_of_pair(1, 0, which, i, 0) * static_cast<double>(n)));
        };
        one.q_idx = below(all.q_len, 0);
        one.kv_idx = below(all.kv_len, 1);
        seen += bound<Real>(predicate, one).always();
    }
    return (100 * seen + draws / 2) / draws;
}

/// A mask that decides fewer than a quarter of the tiles.
template <class Real, class Predicate>
void explain_undecided(Predicate const& predicate, box const& all, counted_blocks const& n,
                       std::vector<std::string>& sentences) {
    auto const decided = static_cast<index_t>(100 * (n.full() + n.empty()));
    if (n.blocks.all() < 2 || decided >= 25) return;
    index_t const percent = visible_percent<Real>(predicate, all);
    std::string text = "the mask decides " + std::to_string(decided)
                     + " % of the tiles: in the others it is evaluated for each pair, and about "
                     + std::to_string(percent) + " % of all pairs are visible";
    if (percent <= 25) text += "; neighbors(graph) computes only the pairs that it lists";
    else if (!reads_a_table<Predicate>) text += "; a table of it, made before, takes one read";
    sentences.push_back(text);
}

/// A normalizer of whole rows.
inline void explain_whole_rows(call_plan const& how, index_t keys, index_t bytes, std::vector<std::string>& sentences) {
    if (how.by != traversal::whole_rows) return;
    index_t const rows = how.blocks.tile_rows, kib = ceil_div(rows * keys * bytes, index_t{1024}),
                  blocks = ceil_div(keys, how.blocks.block_keys);
    sentences.push_back(
        "whole rows are kept: up to " + std::to_string(rows) + " x " + std::to_string(keys) + " scores, "
        + std::to_string(kib) + " KiB for each thread, "
        + (blocks > 1 ? std::to_string(blocks) + " blocks of keys where an online normalizer, such as softmax, keeps 1"
                      : "1 block of keys, as an online normalizer keeps"));
}

}  // namespace fovea::FOVEA_SET::plan
