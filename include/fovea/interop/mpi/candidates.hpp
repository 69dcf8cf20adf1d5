// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Few queries over many keys, most of which have no weight: all ranks get all queries, each lists the keys that it
// holds and that may have a weight, with their values, and the ranks that hold the queries join the lists.
#pragma once

#include <fovea/interop/mpi/queries.hpp>
#include <fovea/parts/candidate_rows.hpp>

#include <cstddef>
#include <optional>
#include <tuple>
#include <vector>

namespace fovea::FOVEA_SET::mpi::detail {

/// Lists, from the ranks that have made them to those that have the queries.
class travelling_lists {
public:
    explicit travelling_lists(MPI_Comm comm)
        : comm_(comm), in_(static_cast<std::size_t>(size_of(comm))), out_(in_.size()) {}

    /// Those of all queries, for each rank its own.
    template <class Rows>
    void pack(Rows const& all, std::vector<runs> const& queries) {
        for (std::size_t r = 0; r < out_.size(); ++r) {
            index_t bytes = 0;
            for (auto const& run : queries[r]) bytes += all.packed_bytes(run.first, run.count);
            out_[r].resize(static_cast<std::size_t>(bytes));
            auto* to = out_[r].data();
            for (auto const& run : queries[r]) to = all.pack(run.first, run.count, to);
        }
    }
    /// Collective.
    void exchange(traffic& counts) {
        std::vector<index_t> going, coming(out_.size());
        on_all(comm_, [&] {
            for (auto const& bytes : out_) going.push_back(static_cast<index_t>(bytes.size()));
        });
        MPI_Alltoall(going.data(), sizeof(index_t), MPI_BYTE, coming.data(), sizeof(index_t), MPI_BYTE, comm_);
        on_all(comm_, [&] {
            for (std::size_t r = 0; r < in_.size(); ++r) {
                in_[r].resize(static_cast<std::size_t>(coming[r]));
                on_way_.reserve(coming[r]);
                on_way_.reserve(going[r]);
            }
        });
        for (int r = 0; r < size_of(comm_); ++r) {
            auto const i = static_cast<std::size_t>(r);
            on_way_.receive(in_[i].data(), coming[i], r, 0, comm_);
            on_way_.send(out_[i].data(), going[i], r, 0, comm_);
            if (r == rank_in(comm_)) continue;
            counts.bytes_received += coming[i];
            counts.bytes_sent += going[i];
        }
        wait_in(counts, [&] { on_way_.wait(); });
    }
    template <class Rows>
    void unpack(Rows& own, runs const& queries) const {
        for (auto const& bytes : in_) {
            auto const* from = bytes.data();
            for (auto const& run : queries) from = own.unpack(run.place, run.count, from);
        }
    }

private:
    MPI_Comm comm_;
    std::vector<std::vector<std::byte>> in_, out_;  // from each rank, and to it
    message on_way_;
};

/// The attention itself, on heads: queries travel, and lists of keys with their values come back. Collective.
template <class Rows, class T, class Executor, class Whole, attention_spec A, class Q, class K, class V, class Out,
          class... Asked>
void attend_by_lists(Executor const& executor, workspace& scratch, Whole const& whole, A const& a,
                     view<Q const, 4> const& query, view<K const, 4> const& key, view<V const, 4> const& value,
                     view<Out, 4> const& out, std::tuple<Asked...> const& asked, traffic* counts) {
    MPI_Comm comm = whole.comm;
    std::vector<held_piece> pieces;  // of this rank that are seen
    std::optional<gathered_queries<Q>> gathered;
    std::optional<Rows> all, own;
    std::optional<travelling_lists> lists;
    traffic sent;
    on_all(comm, [&] {
        auto const holders = holders_of<T>(a, whole.shapes, whole.pieces);
        for (std::size_t p = 0; p < holders.size(); ++p)
            if (holders[p] == rank_in(comm)) pieces.push_back(whole.pieces[p]);
        gathered.emplace(comm, whole.queries_of_ranks, query, whole.shapes.queries(), scratch.shared());
        all.emplace(a, whole.shapes, gathered->queries(), runs{{0, whole.shapes.queries(), 0}});
        own.emplace(a, whole.shapes, query, whole.queries);
        lists.emplace(comm);
    });
    gathered->gather(sent);
    on_all(comm, [&] {
        all->take(executor, scratch, pieces, key, value);
        all->prune();
        lists->pack(*all, whole.queries_of_ranks);
    });
    lists->exchange(sent);
    on_all(comm, [&] {
        lists->unpack(*own, whole.queries);
        own->prune();
        own->finish(out, asked);
    });
    sent.pieces = static_cast<index_t>(pieces.size());
    if (counts != nullptr) *counts += sent;
}

}  // namespace fovea::FOVEA_SET::mpi::detail
