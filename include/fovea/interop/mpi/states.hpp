// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Running states over ranks: each rank's positions in their order, and the state of a head goes from the rank that has
// the positions before to the one that has those after, while the next head is on its way behind it.
#pragma once

#include <fovea/interop/mpi/exchange.hpp>
#include <fovea/parts/recurrent_states.hpp>
#include <fovea/spec/call/gradient_sink.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <tuple>
#include <vector>

namespace fovea::FOVEA_SET::mpi::detail {

/// Pieces that follow one another on one rank, as one.
inline std::vector<chunk> joined_pieces(std::vector<chunk> const& pieces) {
    std::vector<chunk> all;
    for (auto const& piece : pieces)
        if (!all.empty() && all.back().owner == piece.owner && all.back().place + all.back().count == piece.place)
            all.back().count += piece.count;
        else all.push_back(piece);
    return all;
}

/// The rank whose past state begins the sequence, and the one that has its last state.
inline int first_holder(std::vector<chunk> const& held) { return held.empty() ? 0 : held.front().owner; }
inline int last_holder(std::vector<chunk> const& held) { return held.empty() ? 0 : held.back().owner; }

/// Errors: shape_error where queries and keys, which a state goes along together, are those of other positions.
inline void check_same_positions(runs const& queries, runs const& keys) {
    auto const same = [](position_run const& a, position_run const& b) {
        return a.first == b.first && a.count == b.count && a.place == b.place;
    };
    if (!std::equal(queries.begin(), queries.end(), keys.begin(), keys.end(), same))
        throw shape_error(
            "a running state goes along queries and keys together: over ranks each holds the same "
            "positions of both");
}

/// The states of a sequence on their way from rank to rank, a message for each head and each run of positions.
template <class States>
class travelling_states {
public:
    travelling_states(MPI_Comm comm, States const& states) : comm_(comm), states_(states), in_(count()), out_(count()) {
        for (auto* all : {&in_, &out_})
            for (auto& head : *all) head.reserve(states.bytes());
        last_.reserve(static_cast<index_t>(count()) * states.bytes());
    }
    traffic const& counts() const { return counts_; }

    /// The states of all heads are to come from a rank; what was sent of them before has left.
    void expect(int from) {
        for (std::size_t h = 0; h < count(); ++h) {
            wait_in(counts_, [&] { out_[h].wait(); });
            in_[h].receive(place(h), states_.bytes(), from, tag_of(h), comm_);
            counts_.bytes_received += states_.bytes();
        }
    }
    void arrive(index_t head) {
        wait_in(counts_, [&] { in_[static_cast<std::size_t>(head)].wait(); });
    }
    void send(index_t head, int to) {
        auto const h = static_cast<std::size_t>(head);
        out_[h].send(place(h), states_.bytes(), to, tag_of(h), comm_);
        counts_.bytes_sent += states_.bytes();
    }
    void end() {
        wait_in(counts_, [&] {
            for (auto& head : out_) head.wait();
        });
    }
    /// All ranks get the states of one. Collective.
    void broadcast(int from) {
        end();
        index_t const bytes = static_cast<index_t>(count()) * states_.bytes();
        last_.broadcast(place(0), bytes, from, comm_);
        wait_in(counts_, [&] { last_.wait(); });
        if (rank_in(comm_) == from) counts_.bytes_sent += bytes * (size_of(comm_) - 1);
        else counts_.bytes_received += bytes;
    }

    void add_piece() { ++counts_.pieces; }

private:
    std::size_t count() const { return static_cast<std::size_t>(states_.heads()); }
    std::byte* place(std::size_t head) const {
        return reinterpret_cast<std::byte*>(states_.of_head(static_cast<index_t>(head)));
    }
    static int tag_of(std::size_t head) { return static_cast<int>(head % 32768); }

    MPI_Comm comm_;
    States const& states_;
    std::vector<message> in_, out_;
    message last_;
    traffic counts_;
};

/// The bytes that each rank sends: a state of each head at the end of its runs, and the last one to all where they are
/// asked for it, or read it.
inline std::vector<index_t> sent_states(std::vector<chunk> const& held, index_t all_states, bool to_all, int ranks) {
    std::vector<index_t> sent(static_cast<std::size_t>(ranks), 0);
    for (std::size_t i = 0; i + 1 < held.size(); ++i)
        if (held[i].owner != held[i + 1].owner) sent[static_cast<std::size_t>(held[i].owner)] += all_states;
    if (to_all) sent[static_cast<std::size_t>(last_holder(held))] += all_states * (ranks - 1);
    return sent;
}

/// Whether all ranks get the last state.
template <attention_spec A, class... Asked>
inline constexpr bool all_need_last_state =
    !is_causal_attention<A>
    || (takes_present_state<decltype(std::declval<Asked const&>().bind(operand_shapes{}))> || ...);

/// The attention itself, on heads: states travel, and each rank keeps its positions. Collective.
template <class T, class Arch, class Executor, class Whole, attention_spec A, class Q, class K, class V, class Out,
          class... Asked>
void attend_with_states(Executor const& executor, workspace& scratch, Whole const& whole, A const& a,
                        view<Q const, 4> const& query, view<K const, 4> const& key, view<V const, 4> const& value,
                        view<Out, 4> const& out, std::tuple<Asked...> const& asked, traffic* counts) {
    using states_type = driver::recurrent_states<T, Arch, A, Q, K, V, Out>;
    MPI_Comm comm = whole.comm;
    int const rank = rank_in(comm);
    std::vector<chunk> held;
    std::optional<states_type> states;
    std::optional<travelling_states<states_type>> travelling;
    auto const for_each_asked = [&](auto const& f) {
        std::apply([&](auto const&... each) { (f(each.bind(whole.shapes)), ...); }, asked);
    };
    on_all_ranks(comm, [&] {
        held = joined_pieces(whole.pieces);
        if constexpr (states_type::call::causal) check_same_positions(whole.queries, whole.keys);
        states.emplace(a, whole.shapes, query, key, value, out, scratch.shared());
        travelling.emplace(comm, *states);
        if (rank == first_holder(held))
            for_each_asked([&](auto const& given) {
                if constexpr (gives_past_state<std::remove_cvref_t<decltype(given)>>)
                    fovea::detail::for_each_index(given.target.extents, [&](auto... at) {
                        states->states()(at...) = static_cast<T>(given.target(at...));
                    });
            });
    });
    first_thrown error;  // the states of others travel on
    index_t const heads = states->heads(), at_once = std::max<index_t>(executor.workers(), 1);
    for (std::size_t i = 0; i < held.size(); ++i) {
        if (held[i].owner != rank) continue;
        bool const comes = i > 0 && held[i - 1].owner != rank, goes = i + 1 < held.size() && held[i + 1].owner != rank;
        if (comes) travelling->expect(held[i - 1].owner);
        for (index_t first = 0; first < heads; first += at_once) {
            index_t const last = std::min(first + at_once, heads);
            for (index_t h = first; comes && h < last; ++h) travelling->arrive(h);
            error.unless_thrown([&] { states->take(executor, scratch, held[i], {first, last}); });
            for (index_t h = first; goes && h < last; ++h) travelling->send(h, held[i + 1].owner);
        }
        travelling->add_piece();
    }
    travelling->end();
    if constexpr (all_need_last_state<A, Asked...>) travelling->broadcast(last_holder(held));
    if constexpr (!states_type::call::causal)
        error.unless_thrown([&] {
            for (auto const& run : whole.queries) states->read(executor, scratch, run);
        });
    agree(comm, error.thrown());
    for_each_asked([&](auto const& output) {
        if constexpr (takes_present_state<std::remove_cvref_t<decltype(output)>>)
            fovea::detail::for_each_index(output.target.extents, [&](auto... at) {
                using element = std::remove_pointer_t<decltype(output.target.data)>;
                output.target(at...) = rounded_to<element>(states->states()(at...));
            });
    });
    if (counts != nullptr) *counts += travelling->counts();
}

}  // namespace fovea::FOVEA_SET::mpi::detail
