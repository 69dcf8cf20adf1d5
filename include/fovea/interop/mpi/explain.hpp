// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The plan of a call over ranks as a value, and as text: what travels and why, and what each rank sends.
#pragma once

#include <fovea/driver/explain.hpp>
#include <fovea/interop/mpi/run.hpp>
#include <fovea/spec/part/ragged.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace fovea::FOVEA_SET::mpi {

/// Pieces that travel past the ranks that need them.
struct travel_plan {
    index_t piece_bytes = 0;              // of the longest
    index_t not_sent = 0, transfers = 0;  // to ranks that others need, and do not hold; those that are not sent
    std::vector<index_t> sent;            // bytes, by each rank
};

/// How a call over ranks is computed.
struct ranks_plan {
    schedule way = schedule::ring;
    bool merges = false;                          // partial results can be merged
    bool gathers = false;                         // keys are kept until the last one is here
    index_t partial_bytes = 0;                    // of all queries over a piece
    index_t pieces = 0, longest = 0, unseen = 0;  // pieces, and those that no query sees
    travel_plan keys;                             // if they travel
    std::vector<index_t> sent;
};

namespace detail {
/// The plan of pieces of bytes_of(positions), of which this rank needs some, for ranks that hold `others`. Collective.
template <class Bytes>
travel_plan plan_travel(MPI_Comm comm, Bytes const& bytes_of, std::vector<chunk> const& pieces, index_t longest,
                        std::vector<std::uint8_t> const& needs, std::vector<runs> const& others) {
    auto const needs_of_ranks = gather_needs(comm, needs);
    travel_plan plan{.piece_bytes = bytes_of(longest),
                     .sent = sent_pieces(bytes_of, pieces, needs_of_ranks, size_of(comm))};
    for (std::size_t r = 0; r < others.size(); ++r)
        for (std::size_t p = 0; p < pieces.size() && !others[r].empty(); ++p) {
            if (pieces[p].owner == static_cast<int>(r)) continue;
            ++plan.transfers;
            plan.not_sent += needs_of_ranks[r * pieces.size() + p] == 0;
        }
    return plan;
}

/// The plan of a call whose sequence is known. Collective.
template <class T, class Ways, attention_spec A>
ranks_plan plan_over_ranks(A const& a, global_sequence const& whole) {
    auto const bytes = Ways::bytes(whole.shapes);
    ranks_plan plan;
    plan.way = Ways::chosen(whole.shapes, whole.longest);
    plan.merges = Ways::merges;
    plan.gathers = Ways::gathers;
    plan.partial_bytes = bytes.partial(whole.shapes.queries());
    plan.longest = std::min(whole.longest, whole.shapes.keys());
    plan.pieces = static_cast<index_t>(whole.pieces.size());
    auto const owners = owners_of<T>(a, whole.shapes, whole.pieces);
    plan.unseen = std::count(owners.begin(), owners.end(), driver::no_owner);
    std::vector<std::uint8_t> needs;
    on_all_ranks(whole.comm, [&] { needs = needs_of<T, Ways::needs_all>(a, whole); });
    plan.keys = plan_travel(
        whole.comm, [&](index_t count) { return bytes.piece(count); }, whole.pieces, plan.longest, needs,
        whole.queries_of_ranks);
    plan.sent = plan.way == schedule::pass_q ? sent_queries(bytes, driver::subtrees_of(owners), whole.queries_of_ranks)
                                             : plan.keys.sent;
    return plan;
}

/// The ways of a call that has been bound: of projected operands it is the heads that travel.
template <class Arch, class A, class Call>
struct schedules_of_bound_call;
template <class Arch, class A, class Q, class K, class V, class Result, class... Asked>
struct schedules_of_bound_call<Arch, A, bound_call<Q, K, V, Result, Asked...>> {
    using call = bound_call<Q, K, V, Result, Asked...>;
    using T = typename call::number;
    static constexpr bool projects = projection<decltype(A::project)>;
    template <class Rows>
    using element = std::conditional_t<projects, T, sent_element<Rows, T>>;
    using out = std::conditional_t<writes_heads<A, call>, typename call::result_element, T>;
    using type = schedules_of_call<T, Arch, A, element<Q>, element<K>, element<V>, out, Asked...>;

    /// The key and the value of one position.
    static index_t position_bytes(operand_shapes const& of) {
        return of.batches() * of.key_heads()
             * (of.key[3] * static_cast<index_t>(sizeof(element<K>))
                + of.features() * static_cast<index_t>(sizeof(element<V>)));
    }
};

/// A line: what each rank sends.
inline std::string text_of_sent(std::vector<index_t> const& sent) {
    using driver::number;
    constexpr std::size_t listed = 8;
    std::string text = "sent        ";
    index_t all = 0;
    for (std::size_t r = 0; r < sent.size(); ++r) {
        all += sent[r];
        if (r < listed) text += number(sent[r]) + (r + 1 < std::min(listed, sent.size()) ? ", " : "");
    }
    if (sent.size() > listed) text += ", ...";
    return text + " bytes by rank 0 and those after it, " + number(all) + " in all\n";
}
/// Two lines: the specification, and the ranks.
template <class Ranks, class A>
std::string text_of_ranks(MPI_Comm comm, Ranks const& ranks, A const& a) {
    return "attention   " + text(a) + "\nranks       " + driver::number(size_of(comm)) + ", queries "
         + ranks.queries.text() + ", keys " + ranks.keys.text() + "\n";
}

/// The plan of a call with running states.
template <class T, class Call, attention_spec A>
std::string text_of_states(A const& a, global_sequence const& whole) {
    using driver::number;
    auto const extents = state_extents(a, whole.shapes);
    index_t const heads = extents[0] * extents[1];
    index_t const bytes = extents[2] * extents[3] * static_cast<index_t>(sizeof(T));
    auto const held = joined_pieces(whole.pieces);
    constexpr bool to_all = []<class... Asked>(std::type_identity<std::tuple<Asked...>>) {
        return all_need_last_state<A, Asked...>;
    }(std::type_identity<decltype(Call::asked)>{});
    return "schedule    states travel, head after head: " + number(heads, "state") + " of " + number(bytes, "byte")
         + (to_all ? ", the last ones to all ranks" : "") + "\npieces      " + number(static_cast<index_t>(held.size()))
         + ", one after the other\n" + text_of_sent(sent_states(held, heads * bytes, to_all, size_of(whole.comm)));
}

/// The plan of a call with listed keys.
template <attention_spec A>
std::string text_of_lists(A const& a, global_sequence const& whole, index_t position_bytes) {
    using driver::number;
    std::optional<listed_halo> halo;
    on_all_ranks(whole.comm, [&] { halo.emplace(whole.comm, a.mask.neighbor_list(), whole.pieces); });
    traffic sent;
    halo->ask(sent);
    index_t const own = sent.bytes_sent + halo->asked_by_others() * position_bytes;
    std::vector<index_t> of_ranks(static_cast<std::size_t>(size_of(whole.comm)));
    MPI_Allgather(&own, sizeof own, MPI_BYTE, of_ranks.data(), sizeof own, MPI_BYTE, whole.comm);
    return "schedule    keys and values that are listed are fetched, each of them once: "
         + number(position_bytes, "byte") + "\n" + text_of_sent(of_ranks);
}

inline std::string text_of(ranks_plan const& plan) {
    using driver::number;
    std::string text = "schedule    ";
    if (plan.way == schedule::pass_q)
        text += "queries travel, and partial results: those of all queries over a piece have "
              + number(plan.partial_bytes, "byte") + ", and the piece " + number(plan.keys.piece_bytes);
    else if (plan.merges)
        text += "keys and values travel: a piece has " + number(plan.keys.piece_bytes, "byte")
              + ", and the partial results of all queries over it " + number(plan.partial_bytes);
    else if (plan.gathers)
        text += "keys and values travel, and are kept: rows are read whole; a piece has "
              + number(plan.keys.piece_bytes, "byte");
    else
        text += "keys and values travel: partial results cannot be merged; a piece has "
              + number(plan.keys.piece_bytes, "byte");
    text += "\npieces      " + number(plan.pieces) + " of at most " + number(plan.longest, "position") + ", "
          + number(plan.unseen) + " seen by no query";
    if (plan.way == schedule::ring)
        text += "; " + number(plan.keys.not_sent) + " of " + number(plan.keys.transfers, "transfer")
              + " to ranks with queries left out";
    return text + "\n" + text_of_sent(plan.sent);
}
}  // namespace detail

}  // namespace fovea::FOVEA_SET::mpi

namespace fovea::FOVEA_SET {

/// explain: the plan of a call over ranks as text, which is the same on all of them; see mpi::ranks. Collective.
///
/// Errors: as attend would throw them for these arguments, on all ranks.
template <class Arch = arch::best, class Queries, class Keys, class A, class... Arguments>
    requires attention_spec<std::remove_cvref_t<A>>
std::string explain(mpi::ranks_t<Queries, Keys> const& ranks, A&& of, Arguments&&... arguments) {
    using namespace mpi::detail;
    using spec = std::remove_cvref_t<A>;
    spec const& a = of;
    if constexpr (fovea::detail::is_call<Arguments...>()) {
        attention_over<spec> const over{a};
        using call_type = decltype(bind_call(over, arguments...));
        if constexpr (!is_ill_formed<call_type>) {
            if constexpr (goes_over_ranks<spec, call_type>()) {
                using T = typename call_type::number;
                auto const explained = [&](auto const& text_of_way) {
                    require_mpi(false);
                    MPI_Comm comm = own_communicator::of(ranks.comm);
                    auto call = bound_on_all_ranks(comm, [&] { return bind_call(over, arguments...); });
                    auto const whole = gather<T>(comm, ranks, a, call);
                    return text_of_ranks(comm, ranks, a) + text_of_way(whole);
                };
                if constexpr (is_recurrent<spec>) {
                    return explained([&](auto const& whole) { return text_of_states<T, call_type>(a, whole); });
                } else if constexpr (plan::lists_keys<spec>) {
                    return explained([&](auto const& whole) {
                        return text_of_lists(
                            a, whole, schedules_of_bound_call<Arch, spec, call_type>::position_bytes(whole.shapes));
                    });
                } else {
                    using ways = typename schedules_of_bound_call<Arch, spec, call_type>::type;
                    return explained([&](auto const& whole) { return text_of(plan_over_ranks<T, ways>(a, whole)); });
                }
            }
        }
    }
    return {};
}
/// A ragged batch has sizes of each sequence, over ranks as on one.
template <class Arch = arch::best, class Queries, class Keys, class Index, class... Arguments>
std::string explain(mpi::ranks_t<Queries, Keys> const&, ragged_t<Index> const& all, Arguments&&... arguments) {
    return explain<Arch>(all, std::forward<Arguments>(arguments)...);
}

}  // namespace fovea::FOVEA_SET
