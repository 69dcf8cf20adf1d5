// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A call over ranks whose arrays are right on each of them: what they are together, projections, the travel of the
// keys, and what comes after the attention.
#pragma once

#include <fovea/driver/attend.hpp>
#include <fovea/driver/dense/merged_attention.hpp>
#include <fovea/interop/mpi/check.hpp>
#include <fovea/interop/mpi/queries.hpp>
#include <fovea/interop/mpi/saved.hpp>
#include <fovea/interop/mpi/whole.hpp>

#include <exception>
#include <optional>

namespace fovea::FOVEA_SET::mpi::detail {

/// What is computed with keys that come piece by piece, and with queries that travel.
template <class T, class Arch, attention_spec A, class Q, class K, class V, class Out, class... Asked>
struct ways_of_call {
    using carried = driver::piecewise_attention<T, Arch, A, Q, K, V, Out, Asked...>;
    using piecewise = std::conditional_t<carried::call::selects,
                                         driver::merged_attention<T, Arch, A, Q, K, V, Out, Asked...>, carried>;
    using partial = driver::partial_rows<T, Arch, A, Q, K, V, Out, Asked...>;

    static call_bytes bytes(operand_shapes const& shapes) {
        constexpr auto size = [](auto const* element) { return static_cast<index_t>(sizeof *element); };
        return {shapes,
                {size(static_cast<Q const*>(nullptr)), size(static_cast<K const*>(nullptr)),
                 size(static_cast<V const*>(nullptr)), partial::row_bytes(shapes)}};
    }
    static travelling chosen(operand_shapes const& shapes, index_t longest) {
        return chosen_way(bytes(shapes), longest, partial::merges);
    }
};

/// The attention itself, on heads: keys and values travel, and each rank keeps its queries. Collective.
template <class Rows, class T, class Executor, attention_spec A, class Q, class K, class V, class Out, class... Asked>
void attend_where_queries_are(Executor const& executor, workspace& scratch, whole_sequence const& whole, A const& a,
                              view<Q const, 4> const& query, view<K const, 4> const& key, view<V const, 4> const& value,
                              view<Out, 4> const& out, std::tuple<Asked...> const& asked, traffic* counts) {
    std::vector<std::uint8_t> needs;
    std::optional<Rows> attention;
    on_all(whole.comm, [&] {
        needs = needs_of<T>(a, whole);
        attention.emplace(a, whole.shapes, query, out, asked, cut(whole.queries, whole.longest), whole.longest);
    });
    compute_while_travelling(
        executor, scratch, whole.comm, {whole.pieces, needs, std::min(whole.longest, whole.shapes.keys())}, counts,
        [&](auto const& looking, held_piece const& piece, auto const& keys, auto const& values) {
            attention->take(looking, scratch, piece.first, keys, values);
        },
        [&](auto const& looking) { attention->finish(looking, scratch); }, key, value);
}

/// The attention itself, on heads. Collective.
template <class T, class Arch, class Executor, attention_spec A, class Q, class K, class V, class Out, class... Asked>
void attend_heads_over_ranks(Executor const& executor, workspace& scratch, whole_sequence const& whole, A const& a,
                             view<Q const, 4> const& query, view<K const, 4> const& key, view<V const, 4> const& value,
                             view<Out, 4> const& out, std::tuple<Asked...> const& asked, traffic* counts) {
    using ways = ways_of_call<T, Arch, A, Q, K, V, Out, Asked...>;
    if constexpr (goes_piece_by_piece<typename ways::piecewise::call>()) {
        if constexpr (ways::partial::merges)
            if (ways::chosen(whole.shapes, whole.longest) == travelling::queries)
                return attend_where_keys_are<typename ways::partial, T>(executor, scratch, whole, a, query, key, value,
                                                                        out, asked, counts);
        attend_where_queries_are<typename ways::piecewise, T>(executor, scratch, whole, a, query, key, value, out,
                                                              asked, counts);
    }
}

/// Whether the result of a call has the rows of its heads: no projections, and nothing after the aggregator.
template <attention_spec A>
inline constexpr bool writes_heads =
    !projection<decltype(A::project)> && !is_finished<std::remove_const_t<decltype(A::aggregate)>>;

inline std::vector<index_t> positions_of(runs const& all) {
    std::vector<index_t> positions;
    for (auto const& run : all)
        for (index_t n = 0; n < run.count; ++n) positions.push_back(run.first + n);
    return positions;
}

/// Calls f(queries, keys, values) with the heads that projections make of the positions of this rank, on all ranks or
/// on none. Collective, and so may f be.
template <class T, class Arch, class Executor, attention_spec A, class Call, class F>
void with_projected_on_all(Executor const& executor, workspace& scratch, whole_sequence const& whole, A const& a,
                           Call const& call, F const& f) {
    auto const queries = positions_of(whole.queries), keys = positions_of(whole.keys);
    auto const local = rewritten(
        a, fovea::detail::mapped_at{{queries.data(), whole.shapes.queries()}, {keys.data(), whole.shapes.keys()}},
        [](auto const& aggregate) { return aggregate; });
    bool projected = false;
    try {
        driver::with_projected<T, Arch>(executor, scratch, local, call,
                                        [&](auto const& q, auto const& k, auto const& v) {
                                            projected = true;
                                            agree(whole.comm, nullptr);
                                            f(q, k, v);
                                        });
    } catch (...) {
        if (projected) throw;  // what was thrown since has been agreed upon
        agree(whole.comm, std::current_exception());
    }
}

/// A call whose arrays are right on each rank. Collective.
template <class Arch, class Executor, class Ranks, attention_spec A, class Call>
void run_over_ranks(Executor const& executor, workspace& scratch, MPI_Comm comm, Ranks const& ranks, A const& a,
                    Call& call) {
    using T = typename Call::number;
    using Out = typename Call::result_element;
    auto const whole = gather<T>(comm, ranks, a, call);
    auto const asked = outputs_in_parts(call.asked);
    constexpr bool saves = driver::saves_rows<decltype(call.outputs())>
                        && driver::carries_max_and_sum<std::remove_cvref_t<decltype(normalizer_of(a.normalize))>, T>,
                   rounds_saved = saves && !std::is_same_v<Out, T>;
    with_projected_on_all<T, Arch>(executor, scratch, whole, a, call, [&](auto const& q, auto const& k, auto const& v) {
        auto const attend_into = [&](auto const& out) {
            attend_heads_over_ranks<T, Arch>(executor, scratch, whole, a, q, k, v, out, asked, ranks.counts);
            if constexpr (saves) finish_saved(executor, call.asked, out);
        };
        if constexpr (writes_heads<A> && !rounds_saved) {
            attend_into(call.result);
        } else {
            view<T, 4> x{};
            on_all(comm, [&] {
                index_t const heads = whole.shapes.heads(), features = whole.shapes.features();
                x = split_heads(driver::fresh_rows<T>(scratch, {q.extent(0), 1, q.extent(2), heads * features}), heads,
                                "result");
            });
            attend_into(x);
            on_all(comm, [&] {
                for (auto const& run : cut(whole.queries, whole.longest))
                    driver::finish_rows<false, Arch>(
                        executor, scratch, of_part(a, {run.first, 0, whole.shapes.queries(), whole.shapes.keys()}),
                        driver::rows_at(x, run), driver::rows_at(call.query, run), driver::rows_at(call.result, run));
            });
        }
    });
}

}  // namespace fovea::FOVEA_SET::mpi::detail
