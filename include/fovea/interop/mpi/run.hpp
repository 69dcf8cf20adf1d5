// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A call over ranks whose arrays are right on each of them: what they are together, projections, the schedule of the
// keys, what comes after the attention, and outputs that add over all queries.
#pragma once

#include <fovea/driver/attend.hpp>
#include <fovea/interop/mpi/check.hpp>
#include <fovea/interop/mpi/exchange.hpp>
#include <fovea/interop/mpi/global_sequence.hpp>
#include <fovea/interop/mpi/halo.hpp>
#include <fovea/interop/mpi/pass_q.hpp>
#include <fovea/interop/mpi/states.hpp>
#include <fovea/parts/gathered.hpp>
#include <fovea/parts/partial_rows.hpp>
#include <fovea/spec/call/gradient_sink.hpp>
#include <fovea/spec/outputs.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <optional>
#include <vector>

namespace fovea::FOVEA_SET::mpi::detail {

/// All ranks get the sums over all queries; `attention` has those of the runs of this one. Collective, and nothing is
/// allocated but what `room` was given for.
class reduced_outputs {
public:
    /// Errors: std::bad_alloc, and shape_error where the pieces of the queries are not a sequence.
    template <class Attention>
    reduced_outputs(MPI_Comm comm, std::vector<runs> const& queries, index_t longest, Attention const& attention)
        : comm_(comm), pieces_(in_order(queries, longest, "the queries")) {
        index_t most = 0;
        attention.for_sums([&](auto const& asked, auto const&) { most = std::max(most, bytes_of(asked.target)); });
        on_way_.reserve(most);
        room_.resize(static_cast<std::size_t>(most));
        auto const own = cut(queries[static_cast<std::size_t>(rank_in(comm))], longest);
        for (auto const& piece : pieces_) {
            std::size_t number = 0;
            while (number < own.size() && own[number].first != piece.first) ++number;
            numbers_.push_back(number);
        }
    }

    template <class Attention>
    void add(Attention const& attention, traffic& counts) {
        attention.for_sums([&](auto const& asked, auto const& of_run) {
            asked.begin();
            using T = std::remove_pointer_t<decltype(asked.target.data)>;
            for (std::size_t p = 0; p < pieces_.size(); ++p) {
                bool const here = pieces_[p].owner == rank_in(comm_);
                auto* const sums = here ? of_run(numbers_[p]) : reinterpret_cast<T*>(room_.data());
                on_way_.broadcast(reinterpret_cast<std::byte*>(sums), bytes_of(asked.target), pieces_[p].owner, comm_);
                wait_in(counts, [&] { on_way_.wait(); });
                (here ? counts.bytes_sent : counts.bytes_received) +=
                    bytes_of(asked.target) * (here ? size_of(comm_) - 1 : 1);
                T const* from = sums;
                fovea::detail::for_each_index(asked.target.extents, [&](auto... at) {
                    asked.target(at...) = rounded_to<T>(asked.target(at...) + *from++);
                });
            }
        });
    }

private:
    template <class Target>
    static index_t bytes_of(Target const& target) {
        return target.size() * static_cast<index_t>(sizeof *target.data);
    }

    MPI_Comm comm_;
    std::vector<chunk> pieces_;         // of the queries of all ranks
    std::vector<std::size_t> numbers_;  // among those of this rank
    std::vector<std::byte> room_;
    message on_way_;
};

/// The computations of the two schedules: with keys that come chunk by chunk, and with queries that travel.
template <class T, class Arch, attention_spec A, class Q, class K, class V, class Out, class... Asked>
struct schedules_of_call {
    using carried = driver::chunked_attention<T, Arch, A, Q, K, V, Out, Asked...>;
    using gathered = driver::gathered_attention<T, Arch, A, Q, K, V, Out, Asked...>;
    using partial = driver::partial_rows<T, Arch, A, Q, K, V, Out, Asked...>;
    /// Whether keys are kept until the last one is here, and whether all are needed, whatever the mask says.
    static constexpr bool gathers = gathered::call::whole_rows || gathered::shows_all, needs_all = gathered::shows_all,
                          merges = partial::merges && !gathers;
    static constexpr bool reduces_over_queries = gathered::call::operands::outputs_reduce_over_queries;
    using piecewise =
        std::conditional_t<gathers, gathered,
                           std::conditional_t<gathered::call::selects,
                                              driver::merged_attention<T, Arch, A, Q, K, V, Out, Asked...>, carried>>;

    static call_bytes bytes(operand_shapes const& shapes) {
        constexpr auto size = [](auto const* element) { return static_cast<index_t>(sizeof *element); };
        return {shapes,
                {size(static_cast<Q const*>(nullptr)), size(static_cast<K const*>(nullptr)),
                 size(static_cast<V const*>(nullptr)), partial::row_bytes(shapes)}};
    }
    static schedule chosen(operand_shapes const& shapes, index_t longest) {
        return chosen_schedule(bytes(shapes), longest, merges);
    }
};

/// The attention itself, on heads: keys and values travel, and each rank keeps its queries. Collective.
template <class Ways, class T, class Executor, attention_spec A, class Q, class K, class V, class Out, class... Asked>
void attend_where_queries_are(Executor const& executor, workspace& scratch, global_sequence const& whole, A const& a,
                              view<Q const, 4> const& query, view<K const, 4> const& key, view<V const, 4> const& value,
                              view<Out, 4> const& out, std::tuple<Asked...> const& asked, traffic* counts) {
    std::vector<std::uint8_t> needs;
    std::optional<typename Ways::piecewise> attention;
    on_all_ranks(whole.comm, [&] {
        needs = needs_of<T, Ways::needs_all>(a, whole);
        attention.emplace(a, whole.shapes, query, out, asked, cut(whole.queries, whole.longest), whole.longest);
    });
    traffic sent;
    compute_while_travelling(
        executor, scratch, whole.comm, {whole.pieces, needs, std::min(whole.longest, whole.shapes.keys())}, &sent,
        [&](auto const& looking, chunk const& piece, auto const& keys, auto const& values) {
            attention->take(looking, scratch, piece.first, keys, values);
        },
        [&](auto const& looking) { attention->finish(looking, scratch); }, key, value);
    if constexpr (Ways::reduces_over_queries) {
        std::optional<reduced_outputs> outputs;
        on_all_ranks(whole.comm,
                     [&] { outputs.emplace(whole.comm, whole.queries_of_ranks, whole.longest, *attention); });
        outputs->add(*attention, sent);
    }
    if (counts != nullptr) *counts += sent;
}

/// The attention itself, on heads, on an architecture that may be used. Collective.
template <class T, class Arch, class Executor, attention_spec A, class Q, class K, class V, class Out, class... Asked>
void attend_heads_on(Executor const& executor, workspace& scratch, global_sequence const& whole, A const& a,
                     view<Q const, 4> const& query, view<K const, 4> const& key, view<V const, 4> const& value,
                     view<Out, 4> const& out, std::tuple<Asked...> const& asked, traffic* counts) {
    if constexpr (is_recurrent<A>) {
        attend_with_states<T, Arch>(executor, scratch, whole, a, query, key, value, out, asked, counts);
    } else if constexpr (plan::lists_keys<A>) {
        attend_with_lists<T, Arch>(executor, scratch, whole, a, query, key, value, out, asked, counts);
    } else {
        using ways = schedules_of_call<T, Arch, A, Q, K, V, Out, Asked...>;
        if constexpr (ways::merges)
            if (ways::chosen(whole.shapes, whole.longest) == schedule::pass_q)
                return attend_where_keys_are<typename ways::partial, T>(executor, scratch, whole, a, query, key, value,
                                                                        out, asked, counts);
        attend_where_queries_are<ways, T>(executor, scratch, whole, a, query, key, value, out, asked, counts);
    }
}

/// The same on an architecture whose matrix unit is used only where this process may use it. Collective.
template <class T, class Arch, class Executor, attention_spec A, class Q, class K, class V, class Out, class... Asked>
void attend_heads_over_ranks(Executor const& executor, workspace& scratch, global_sequence const& whole, A const& a,
                             view<Q const, 4> const& query, view<K const, 4> const& key, view<V const, 4> const& value,
                             view<Out, 4> const& out, std::tuple<Asked...> const& asked, traffic* counts) {
    kernel::on_usable<Arch, T, asked_parts_of<A>, Q, K, V>([&]<class Usable>(std::type_identity<Usable>) {
        attend_heads_on<T, Usable>(executor, scratch, whole, a, query, key, value, out, asked, counts);
    });
}

/// Whether an attention is one on heads: no projections, and nothing after the aggregator; and whether its result has
/// the rows of its heads.
template <attention_spec A>
inline constexpr bool works_on_heads =
    !projection<decltype(A::project)> && !is_finished<std::remove_const_t<decltype(A::aggregate)>>;
template <attention_spec A, class Call>
inline constexpr bool writes_heads = works_on_heads<A> && !driver::saves_more_bits<typename Call::number, A, Call>;

inline std::vector<index_t> positions_of(runs const& all) {
    std::vector<index_t> positions;
    for (auto const& run : all)
        for (index_t n = 0; n < run.count; ++n) positions.push_back(run.first + n);
    return positions;
}

/// Calls f(parts, queries, keys, values) with the heads that projections make of the positions of this rank, on all
/// ranks or on none. Collective, and so may f be.
template <class T, class Arch, class Executor, class Within, attention_spec A, class Call, class F>
void with_projected_on_all(Executor const& executor, workspace& scratch, global_sequence const& whole,
                           Within const& within, A const& a, Call const& call, F const& f) {
    auto const queries = positions_of(whole.queries), keys = positions_of(whole.keys);
    auto const how = within.mapped(whole, queries, keys);
    auto const local = rewritten(a, how, [](auto const& aggregate) { return aggregate; });
    bool projected = false;
    try {
        auto const parts = within.parts(scratch, whole);
        driver::with_projected<T, Arch>(executor, scratch, local, call,
                                        [&](auto const& q, auto const& stored_k, auto const& stored_v) {
                                            auto const k = one_after_another<T>(stored_k, scratch);
                                            auto const v = one_after_another<T>(stored_v, scratch);
                                            projected = true;
                                            agree(whole.comm, nullptr);
                                            f(parts, q, k, v);
                                        });
    } catch (...) {
        if (projected) throw;  // what was thrown since has been agreed upon
        agree(whole.comm, std::current_exception());
    }
}

/// A call whose arrays are right on each rank. Collective.
template <class Arch, class Executor, class Ranks, class Within, attention_spec A, class Call>
void run_over_ranks(Executor const& executor, workspace& scratch, MPI_Comm comm, Ranks const& ranks,
                    Within const& within, A const& a, Call& call) {
    using T = typename Call::number;
    auto const whole = gather<T>(comm, ranks, a, call, within);
    auto const attend_into = [&](auto const& parts, auto const& q, auto const& k, auto const& v, auto const& out) {
        within.for_each(scratch, parts, a, call.asked,
                        [&](auto const& one, auto const& of_one, auto const& asked, workspace& memory) {
                            if constexpr (Within::several)
                                on_all_ranks(comm, [&] { memory.prepare(executor.workers()); });
                            attend_heads_over_ranks<T, Arch>(executor, memory, one, of_one, q, k, v, out, asked,
                                                             ranks.counts);
                        });
    };
    with_projected_on_all<T, Arch>(
        executor, scratch, whole, within, a, call, [&](auto const& parts, auto const& q, auto const& k, auto const& v) {
            if constexpr (writes_heads<A, Call>) {
                attend_into(parts, q, k, v, call.result);
            } else {
                view<T, 4> x{};
                on_all_ranks(comm, [&] {
                    index_t const heads = whole.shapes.heads(), features = whole.shapes.features();
                    x = split_heads(driver::fresh_rows<T>(scratch, {q.extent(0), 1, q.extent(2), heads * features}),
                                    heads, "result");
                });
                attend_into(parts, q, k, v, x);
                auto const finish = [&](auto const& one, auto const& of_one, auto const&, workspace& memory) {
                    if constexpr (Within::several) memory.prepare(executor.workers());
                    for (auto const& run : cut(one.queries, one.longest))
                        driver::finish_rows<false, Arch>(
                            executor, memory, of_part(of_one, {run.first, 0, one.shapes.queries(), one.shapes.keys()}),
                            driver::rows_at(x, run), driver::rows_at(call.query, run),
                            driver::rows_at(call.result, run));
                };
                on_all_ranks(comm, [&] { within.for_each(scratch, parts, a, std::tuple<>(), finish); });
            }
        });
}

}  // namespace fovea::FOVEA_SET::mpi::detail
