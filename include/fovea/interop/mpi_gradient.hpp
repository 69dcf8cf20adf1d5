// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients over the processes of an MPI communicator, each with positions of its own, and their plan as text.
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/gradient.hpp>
#include <fovea/interop/mpi.hpp>
#include <fovea/interop/mpi/explain.hpp>
#include <fovea/interop/mpi/run_gradient.hpp>

#include <concepts>
#include <string>
#include <vector>

namespace fovea::FOVEA_SET::mpi {

/// How a call of gradient over ranks is computed.
struct gradient_plan {
    bool by_queries = false, by_keys = false, forward = false;  // what is computed
    ranks_plan of_forward;                                      // where rows were not saved
    travel_plan keys, queries;                                  // keys for the gradients of queries, and so on
    index_t table_elements = 0, table_bytes = 0;
    std::vector<index_t> sent;
};

namespace detail {
/// The plan of a call whose sequence is known. Collective.
template <class T, class Arch, class Bound, attention_spec A>
gradient_plan plan_gradient_over_ranks(A const& a, global_sequence const& whole) {
    using call = typename Bound::call_type;
    constexpr bool knows_rows = driver::recomputes_weights<T, A>();
    auto const& shapes = whole.shapes;
    auto const rows = [&](index_t heads, index_t count) { return shapes.batches() * heads * count; };
    auto const size_of_element = [](auto const* element) { return static_cast<index_t>(sizeof *element); };
    constexpr bool projects = projection<decltype(A::project)>;
    using query_element = std::conditional_t<projects, T, typename call::query_element>;
    index_t const query = size_of_element(static_cast<query_element const*>(nullptr)),
                  number = size_of_element(static_cast<T const*>(nullptr)),
                  d_result = works_on_heads<A> ? whole.gradient.d_result_bytes : number;
    gradient_plan plan;
    plan.table_elements = whole.gradient.table_elements;
    plan.by_queries = whole.gradient.asks_queries != 0 || plan.table_elements > 0;
    plan.by_keys = whole.gradient.asks_keys != 0 || plan.table_elements > 0;
    constexpr bool reads_result = driver::gradients_read_result<std::remove_cvref_t<decltype(a.aggregate)>>();
    plan.forward = knows_rows ? whole.gradient.saved == 0 : reads_result;
    auto const bytes_of_queries = [&](index_t count) {
        index_t const all = rows(shapes.heads(), count), statistics = 3 * all * number;
        index_t const q = all * shapes.query[3] * query, d = all * shapes.features() * d_result;
        return knows_rows ? piece_bytes_of({q, d, statistics}) : piece_bytes_of({q, d});
    };
    using ways = typename schedules_of_bound_call<
        Arch, A, bound_call<decltype(call::query), decltype(call::key), decltype(call::value), view<T, 4>>>::type;
    plan.of_forward = plan_over_ranks<T, ways>(a, whole);
    plan.keys = plan.of_forward.keys;
    std::vector<std::uint8_t> needs;
    on_all_ranks(whole.comm, [&] { needs = query_needs_of<T>(a, whole); });
    plan.queries = plan_travel(whole.comm, bytes_of_queries, whole.query_pieces,
                               std::min(whole.longest, shapes.queries()), needs, whole.keys_of_ranks);
    plan.sent.resize(plan.keys.sent.size());
    for (std::size_t r = 0; r < plan.sent.size(); ++r)
        plan.sent[r] = (plan.forward ? plan.of_forward.sent[r] : 0) + (plan.by_queries ? plan.keys.sent[r] : 0)
                     + (plan.by_keys ? plan.queries.sent[r] : 0);
    return plan;
}

inline std::string text_of(gradient_plan const& plan) {
    using driver::number;
    auto const travels = [](travel_plan const& travel, char const* to) {
        return "a piece has " + number(travel.piece_bytes, "byte") + "; " + number(travel.not_sent) + " of "
             + number(travel.transfers, "transfer") + " to ranks with " + to + " left out\n";
    };
    std::string text;
    if (plan.forward) text += text_of(plan.of_forward);
    if (plan.by_queries) text += "of queries  keys and values travel: " + travels(plan.keys, "queries");
    if (plan.by_keys)
        text += "of keys     queries travel, with the gradients of their results: " + travels(plan.queries, "keys");
    if (plan.table_elements > 0)
        text += "arrays      " + number(plan.table_elements, "element") + ", of which all ranks add up "
              + number(plan.table_bytes, "byte") + "\n";
    return text + text_of_sent(plan.sent);
}
}  // namespace detail

}  // namespace fovea::FOVEA_SET::mpi

namespace fovea::FOVEA_SET {

/// explain_gradient: the plan of a call of gradient over ranks as text, the same on all of them. Collective.
///
/// Errors: as gradient would throw them for these arguments, on all ranks.
template <class Arch = arch::best, class Queries, class Keys, attention_spec A, class... Arguments>
std::string explain_gradient(mpi::ranks_t<Queries, Keys> const& ranks, A const& a, Arguments&&... arguments) {
    using namespace mpi::detail;
    if constexpr (fovea::detail::is_call<Arguments...>()) {
        attention_over<A> const of{a};
        using bound_type = decltype(bind_gradient(of, arguments...));
        if constexpr (!is_ill_formed<bound_type>) {
            using call_type = typename bound_type::call_type;
            using T = typename call_type::number;
            if constexpr (goes_over_ranks<A, call_type>()) {
                if constexpr (has_gradient_over_ranks<A, call_type>()) {
                    require_mpi(false);
                    MPI_Comm comm = own_communicator::of(ranks.comm);
                    auto bound = bound_on_all_ranks(comm, [&] { return bind_gradient(of, arguments...); });
                    return std::apply(
                        [&](auto const&... asked) {
                            std::optional<rank_sink<T, std::remove_cvref_t<decltype(asked)>...>> sums;
                            auto const whole = gather_gradient<T>(comm, ranks, a, bound, sums, asked...);
                            auto plan = plan_gradient_over_ranks<T, Arch, bound_type>(a, whole);
                            plan.table_bytes = sums->arrays.bytes();
                            return text_of_ranks(comm, ranks, a) + text_of(plan);
                        },
                        fovea::detail::gradients_among(arguments...));
                }
            }
        }
    }
    return {};
}

/// Arguments before the ranks change nothing of the text.
template <class Arch = arch::best, class Before, class... Arguments>
    requires(executor<std::remove_cvref_t<Before>> || std::same_as<Before, workspace&>)
std::string explain_gradient(Before&&, Arguments&&... arguments) {
    return explain_gradient<Arch>(std::forward<Arguments>(arguments)...);
}

}  // namespace fovea::FOVEA_SET

namespace fovea::FOVEA_SET {

/// gradient: the gradients of a call of attend over the ranks of a communicator; see mpi::ranks.
template <class Arch, executor Executor, class Queries, class Keys, attention_spec A, class... Arguments>
void gradient_on(Executor const& executor, workspace& scratch, mpi::ranks_t<Queries, Keys> const& ranks, A const& a,
                 Arguments&&... arguments) {
    if constexpr (detail::is_call<Arguments...>()) {
        mpi::detail::attention_over<A> const of{a};
        using bound_type = decltype(bind_gradient(of, arguments...));
        if constexpr (!is_ill_formed<bound_type>) {
            using call_type = typename bound_type::call_type;
            if constexpr (mpi::detail::goes_over_ranks<A, call_type>() && driver::runs_in_parts<Executor>()) {
                constexpr bool plain = !((detail::gradient_of_lse<std::remove_cvref_t<Arguments>>
                                          || gradient_of_weights<std::remove_cvref_t<Arguments>>)
                                         || ...);
                static_assert(plain, "fovea: over ranks gradient takes no d_lse, d_weights or d_entropy");
                if constexpr (plain && mpi::detail::has_gradient_over_ranks<A, call_type>()) {
                    decltype(auto) runner = driver::runner_of(executor);
                    mpi::detail::require_mpi(runner.workers() > 1);
                    MPI_Comm comm = mpi::detail::own_communicator::of(ranks.comm);
                    std::optional<workspace::call> alone;
                    auto bound = mpi::detail::bound_on_all_ranks(comm, [&] {
                        auto own = bind_gradient(of, arguments...);
                        alone.emplace(scratch);
                        scratch.prepare(runner.workers());
                        scratch.prepare_nested(1);
                        return own;
                    });
                    std::apply(
                        [&](auto const&... asked) {
                            mpi::detail::run_gradient_over_ranks<Arch>(runner, scratch, comm, ranks, a, bound,
                                                                       asked...);
                        },
                        detail::gradients_among(arguments...));
                }
            }
        }
    }
}

template <class Arch, executor Executor, class Queries, class Keys, class Index, class... Arguments>
void gradient_on(Executor const&, workspace&, mpi::ranks_t<Queries, Keys> const&, ragged_t<Index> const&,
                 Arguments&&...) {
    static_assert(never<Index>,
                  "fovea: over ranks there are gradients of one sequence: ask for those of a ragged batch sequence by "
                  "sequence");
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
