// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Few queries over many keys: all ranks get all queries, each computes partial results over the pieces that it holds,
// and these go to the ranks that hold the queries, which merge them.
#pragma once

#include <fovea/interop/mpi/exchange.hpp>
#include <fovea/interop/mpi/schedule.hpp>
#include <fovea/parts/partial_rows.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <optional>
#include <tuple>
#include <vector>

namespace fovea::FOVEA_SET::mpi::detail {

/// The owner of each piece that some query sees, and no_owner for the others: the same on all ranks.
template <class T, attention_spec A>
std::vector<int> owners_of(A const& a, operand_shapes const& whole, std::vector<chunk> const& pieces) {
    std::vector<int> owners;
    for (auto const& piece : pieces) {
        bool const seen = whole.queries() > 0 && driver::sees<T>(a, whole, {0, whole.queries(), 0}, piece);
        owners.push_back(seen ? piece.owner : driver::no_owner);
    }
    return owners;
}

/// The queries of all ranks, in the order of their positions.
template <class Q>
class gathered_queries {
public:
    gathered_queries(MPI_Comm comm, std::vector<runs> const& held, view<Q const, 4> const& own, index_t all,
                     arena& memory)
        : comm_(comm), held_(held) {
        extents_t<4> const extents{own.extent(0), own.extent(1), all, own.extent(3)};
        queries_ = {memory.take<Q>(element_count(extents)), extents};
        sent_ = memory.take<Q>(element_count(extents));
        for (int r = 0; r < size_of(comm); ++r) on_way_.reserve(bytes_of(r));
        Q* to = sent_;
        for (int r = 0; r < size_of(comm); ++r)
            if (r != rank_in(comm)) to += elements_of(r);
            else
                for_rows(r, [&](index_t b, index_t h, index_t, index_t place) {
                    to = copied(own.place(b, h, place, index_t{0}), own.stride(3), to);
                });
    }
    /// Collective.
    void gather(traffic& counts) {
        Q* at = sent_;
        for (int r = 0; r < size_of(comm_); ++r) {
            index_t const bytes = bytes_of(r);
            on_way_.broadcast(reinterpret_cast<std::byte*>(at), bytes, r, comm_);
            if (r == rank_in(comm_)) counts.bytes_sent += bytes * (size_of(comm_) - 1);
            else counts.bytes_received += bytes;
            at += elements_of(r);
        }
        wait_in(counts, [&] { on_way_.wait(); });
        Q const* from = sent_;
        for (int r = 0; r < size_of(comm_); ++r)
            for_rows(r, [&](index_t b, index_t h, index_t position, index_t) {
                std::copy_n(from, queries_.extent(3), queries_.place(b, h, position, index_t{0}));
                from += queries_.extent(3);
            });
    }
    view<Q const, 4> queries() const { return queries_; }

private:
    static index_t element_count(extents_t<4> const& e) { return e[0] * e[1] * e[2] * e[3]; }
    index_t elements_of(int rank) const {
        return queries_.extent(0) * queries_.extent(1) * positions_in(held_[static_cast<std::size_t>(rank)])
             * queries_.extent(3);
    }
    index_t bytes_of(int rank) const { return elements_of(rank) * static_cast<index_t>(sizeof(Q)); }
    Q* copied(Q const* from, index_t stride, Q* to) const {
        for (index_t c = 0; c < queries_.extent(3); ++c) *to++ = from[c * stride];
        return to;
    }
    template <class F>
    void for_rows(int rank, F const& f) const {
        for (index_t b = 0; b < queries_.extent(0); ++b)
            for (index_t h = 0; h < queries_.extent(1); ++h)
                for (auto const& run : held_[static_cast<std::size_t>(rank)])
                    for (index_t n = 0; n < run.count; ++n) f(b, h, run.first + n, run.place + n);
    }

    MPI_Comm comm_;
    std::vector<runs> const& held_;
    view<Q, 4> queries_;  // (batch, head, position, feature)
    Q* sent_;             // of one rank after the other
    message on_way_;
};

/// Partial results, from the ranks that have computed them to those that have the queries.
template <class Rows>
class travelling_results {
public:
    travelling_results(MPI_Comm comm, std::vector<runs> const& queries, std::vector<driver::subtree> const& trees,
                       Rows const& rows, arena& memory)
        : comm_(comm), queries_(queries), trees_(trees) {
        for (int r = 0; r < size_of(comm); ++r) {
            ends_.push_back({rows.bytes_for(positions_of(rank_in(comm))) * trees_of(r), nullptr,
                             rows.bytes_for(positions_of(r)) * trees_of(rank_in(comm)), nullptr});
            on_way_.reserve(ends_.back().in_bytes);
            on_way_.reserve(ends_.back().out_bytes);
            ends_.back().in = memory.take<std::byte>(ends_.back().in_bytes);
            ends_.back().out = r == rank_in(comm) ? ends_.back().in : memory.take<std::byte>(ends_.back().out_bytes);
        }
    }
    /// Those of this rank's subtrees are results[i] of `all`, for the queries of all ranks.
    void pack(Rows const& all, std::vector<std::size_t> const& results) {
        for (std::size_t r = 0; r < ends_.size(); ++r) {
            auto* to = ends_[r].out;
            for (auto const result : results)
                for (auto const& run : queries_[r]) to = all.pack(result, run.first, run.count, to);
        }
    }
    /// Collective.
    void exchange(traffic& counts) {
        for (int r = 0; r < size_of(comm_); ++r) {
            if (r == rank_in(comm_)) continue;
            auto const& end = ends_[static_cast<std::size_t>(r)];
            on_way_.receive(end.in, end.in_bytes, r, 0, comm_);
            on_way_.send(end.out, end.out_bytes, r, 0, comm_);
            counts.bytes_received += end.in_bytes;
            counts.bytes_sent += end.out_bytes;
        }
        wait_in(counts, [&] { on_way_.wait(); });
    }
    /// Result t of `own`, for the queries of this rank, becomes that of subtree t.
    void unpack(Rows& own) const {
        std::vector<std::byte const*> from;
        for (auto const& end : ends_) from.push_back(end.in);
        for (std::size_t t = 0; t < trees_.size(); ++t)
            for (auto const& run : queries_[static_cast<std::size_t>(rank_in(comm_))]) {
                auto& at = from[static_cast<std::size_t>(trees_[t].owner)];
                at = own.unpack(t, run.place, run.count, at);
            }
    }

private:
    struct messages {
        index_t in_bytes;
        std::byte* in;
        index_t out_bytes;
        std::byte* out;
    };
    index_t positions_of(int rank) const { return positions_in(queries_[static_cast<std::size_t>(rank)]); }
    index_t trees_of(int rank) const {
        return std::count_if(trees_.begin(), trees_.end(), [&](auto const& tree) { return tree.owner == rank; });
    }

    MPI_Comm comm_;
    std::vector<runs> const& queries_;
    std::vector<driver::subtree> const& trees_;
    std::vector<messages> ends_;  // with each rank
    message on_way_;
};

/// The attention itself, on heads: queries travel, and each rank keeps its keys and values. Collective.
template <class Rows, class T, class Executor, class Whole, attention_spec A, class Q, class K, class V, class Out,
          class... Asked>
void attend_where_keys_are(Executor const& executor, workspace& scratch, Whole const& whole, A const& a,
                           view<Q const, 4> const& query, view<K const, 4> const& key, view<V const, 4> const& value,
                           view<Out, 4> const& out, std::tuple<Asked...> const& asked, traffic* counts) {
    MPI_Comm comm = whole.comm;
    index_t const longest = std::min(whole.longest, whole.shapes.keys());
    std::vector<driver::subtree> trees;
    std::vector<chunk> pieces;                // of this rank that are seen
    std::vector<std::size_t> numbers;         // among all
    std::vector<std::size_t> first_of_trees;  // of all ranks
    std::optional<gathered_queries<Q>> gathered;
    std::optional<Rows> all, own;
    std::optional<travelling_results<Rows>> results;
    traffic sent;
    on_all_ranks(comm, [&] {
        auto const owners = owners_of<T>(a, whole.shapes, whole.pieces);
        trees = driver::subtrees_of(owners);
        for (auto const& tree : trees) first_of_trees.push_back(tree.first);
        for (std::size_t p = 0; p < owners.size(); ++p)
            if (owners[p] == rank_in(comm)) {
                pieces.push_back(whole.pieces[p]);
                numbers.push_back(p);
            }
        gathered.emplace(comm, whole.queries_of_ranks, query, whole.shapes.queries(), scratch.shared());
        all.emplace(a, whole.shapes, gathered->queries(), runs{{0, whole.shapes.queries(), 0}}, longest);
        all->allocate(scratch.shared(), pieces.size());
        own.emplace(a, whole.shapes, query, whole.queries, longest);
        own->allocate(scratch.shared(), std::max<std::size_t>(trees.size(), 1));
        results.emplace(comm, whole.queries_of_ranks, trees, *own, scratch.shared());
    });
    gathered->gather(sent);
    on_all_ranks(comm, [&] {
        all->compute(executor, scratch, 0, pieces, key, value);
        std::vector<driver::merge_step> steps;
        std::vector<std::size_t> of_trees;
        for (auto const& tree : trees) {
            if (tree.owner != rank_in(comm)) continue;
            driver::add_merges(numbers, tree.first, tree.size, steps);
            of_trees.push_back(static_cast<std::size_t>(std::lower_bound(numbers.begin(), numbers.end(), tree.first)
                                                        - numbers.begin()));
        }
        all->merge(executor, scratch, steps);
        results->pack(*all, of_trees);
    });
    results->exchange(sent);
    on_all_ranks(comm, [&] {
        results->unpack(*own);
        std::vector<driver::merge_step> steps;
        driver::add_merges(first_of_trees, 0, std::bit_ceil(whole.pieces.size()), steps);
        own->merge(executor, scratch, steps);
        if (trees.empty()) own->clear();
        own->finish(executor, scratch, out, asked);
    });
    sent.pieces = static_cast<index_t>(pieces.size());
    if (counts != nullptr) *counts += sent;
}

}  // namespace fovea::FOVEA_SET::mpi::detail
