// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The exchange before keys travel: extents, who holds which positions, who needs which chunk; and messages of any size,
// which MPI sends in parts.
#pragma once

#include <fovea/interop/mpi/ranks.hpp>
#include <fovea/spec/result_shapes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fovea::FOVEA_SET::mpi::detail {

/// Messages on their way, each in parts of at most `most` bytes, which sender and receiver agree upon.
class message {
public:
    static constexpr index_t most_bytes = index_t{1} << 30;

    explicit message(index_t most = most_bytes) : most_(most) {}

    /// Room for one more message, which then throws nothing.
    void reserve(index_t bytes) {
        parts_.reserve(parts_.capacity() + static_cast<std::size_t>(ceil_div(bytes, most_)));
    }
    void send(std::byte const* from, index_t bytes, int to, int tag, MPI_Comm comm) {
        for_parts(bytes, [&](index_t first, int count, MPI_Request* part) {
            MPI_Isend(from + first, count, MPI_BYTE, to, tag, comm, part);
        });
    }
    void receive(std::byte* to, index_t bytes, int from, int tag, MPI_Comm comm) {
        for_parts(bytes, [&](index_t first, int count, MPI_Request* part) {
            MPI_Irecv(to + first, count, MPI_BYTE, from, tag, comm, part);
        });
    }
    /// From one rank to all. Collective.
    void broadcast(std::byte* bytes_at, index_t bytes, int from, MPI_Comm comm) {
        for_parts(bytes, [&](index_t first, int count, MPI_Request* part) {
            MPI_Ibcast(bytes_at + first, count, MPI_BYTE, from, comm, part);
        });
    }
    bool done() {
        int all = 1;
        if (!parts_.empty()) MPI_Testall(static_cast<int>(parts_.size()), parts_.data(), &all, MPI_STATUSES_IGNORE);
        if (all != 0) parts_.clear();
        return all != 0;
    }
    void wait() {
        if (!parts_.empty()) MPI_Waitall(static_cast<int>(parts_.size()), parts_.data(), MPI_STATUSES_IGNORE);
        parts_.clear();
    }

private:
    template <class F>
    void for_parts(index_t bytes, F const& f) {
        for (index_t first = 0; first < bytes; first += most_) {
            parts_.push_back(MPI_REQUEST_NULL);
            f(first, static_cast<int>(std::min(bytes - first, most_)), &parts_.back());
        }
    }

    index_t most_;
    std::vector<MPI_Request> parts_;
};

inline int size_of(MPI_Comm comm) {
    int size = 0;
    MPI_Comm_size(comm, &size);
    return size;
}
inline int rank_in(MPI_Comm comm) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    return rank;
}

/// The part of a rank's message about a call of gradient; numbers, without bytes between them.
struct told_gradient {
    index_t d_result_bytes = 0, table_elements = 0;  // of an element; of tables and matrices that are asked for
    index_t asks_queries = 0, asks_keys = 0;         // for the gradients of queries, of keys or values
    index_t saved = 0;                               // has saved rows that are complete
};

/// The message of one rank about its call.
struct told_call {
    extents_t<4> query{}, key{}, value{};
    index_t piece = 0, query_bytes = 0, key_bytes = 0, value_bytes = 0;  // of an element
    std::uint64_t sequences = 0;                                         // stands for the offsets of a ragged batch
    told_gradient gradient{};
};

/// The same of all ranks. Collective.
inline std::vector<told_call> gather_calls(MPI_Comm comm, told_call const& own) {
    std::vector<told_call> all(static_cast<std::size_t>(size_of(comm)));
    MPI_Allgather(&own, static_cast<int>(sizeof own), MPI_BYTE, all.data(), static_cast<int>(sizeof own), MPI_BYTE,
                  comm);
    return all;
}

/// The extents of the call that all ranks make together.
///
/// Errors: shape_error where two ranks differ in more than positions.
inline operand_shapes whole_call(std::vector<told_call> const& all) {
    auto const& first = all.front();
    operand_shapes whole{first.query, first.key, first.value};
    whole.query[2] = whole.key[2] = 0;
    for (std::size_t r = 0; r < all.size(); ++r) {
        auto const require_same = [&](char const* what, auto const& has, auto const& needs) {
            if (has != needs) throw shape_error("of rank ", r, " ", what, " is ", has, ", and of rank 0 it is ", needs);
        };
        auto const with_positions_of = [](extents_t<4> e, extents_t<4> const& other) {
            e[2] = other[2];
            return e;
        };
        auto const& told = all[r];
        require_same("query", told.query, with_positions_of(first.query, told.query));
        require_same("key", told.key, with_positions_of(first.key, told.key));
        require_same("value", told.value, with_positions_of(first.value, told.value));
        require_same("the size of a piece", told.piece, first.piece);
        require_same("the size of a number of query", told.query_bytes, first.query_bytes);
        require_same("the size of a number of key", told.key_bytes, first.key_bytes);
        require_same("the size of a number of value", told.value_bytes, first.value_bytes);
        require_same("the size of a number of the gradient of the result", told.gradient.d_result_bytes,
                     first.gradient.d_result_bytes);
        require_same("the number of elements of tables and matrices whose gradients are asked for",
                     told.gradient.table_elements, first.gradient.table_elements);
        if (told.sequences != first.sequences)
            throw shape_error("of rank ", r,
                              " the offsets of ragged are not those of rank 0: all ranks pass those of "
                              "all positions");
        whole.query[2] += told.query[2];
        whole.key[2] += told.key[2];
    }
    whole.value[2] = whole.key[2];
    return whole;
}

/// The runs of all ranks. Collective; the counts of the ranks are known to all.
inline std::vector<runs> gather_runs(MPI_Comm comm, runs const& own) {
    auto const size = static_cast<std::size_t>(size_of(comm));
    auto const numbers = [](std::size_t n) { return static_cast<int>(n * sizeof(position_run)); };
    int const mine = numbers(own.size());
    std::vector<int> counts(size), first(size);
    MPI_Allgather(&mine, 1, MPI_INT, counts.data(), 1, MPI_INT, comm);
    int all_bytes = 0;
    for (std::size_t r = 0; r < size; ++r) {
        first[r] = all_bytes;
        all_bytes += counts[r];
    }
    runs all(static_cast<std::size_t>(all_bytes) / sizeof(position_run));
    MPI_Allgatherv(own.data(), mine, MPI_BYTE, all.data(), counts.data(), first.data(), MPI_BYTE, comm);
    std::vector<runs> of_ranks(size);
    auto next = all.begin();
    for (std::size_t r = 0; r < size; ++r) {
        auto const last =
            next + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(counts[r]) / sizeof(position_run));
        of_ranks[r].assign(next, last);
        next = last;
    }
    return of_ranks;
}

/// Which pieces each rank needs: (rank, piece). Collective.
inline std::vector<std::uint8_t> gather_needs(MPI_Comm comm, std::vector<std::uint8_t> const& own) {
    std::vector<std::uint8_t> all(own.size() * static_cast<std::size_t>(size_of(comm)));
    auto const count = static_cast<int>(own.size());
    MPI_Allgather(own.data(), count, MPI_BYTE, all.data(), count, MPI_BYTE, comm);
    return all;
}

/// One piece on its way: it comes from a rank, or is held here, and goes on to another, or to none.
struct step {
    std::size_t piece;
    int from, to;  // MPI_PROC_NULL: none
    bool needed;   // here
};

/// The way of all pieces that a rank holds or needs, in the order of their positions: from the owner to each rank
/// that needs the piece, in the order of the ranks behind it, around the ring.
inline std::vector<step> route_of(std::vector<chunk> const& pieces, std::vector<std::uint8_t> const& needs, int rank,
                                  int size) {
    std::vector<step> way;
    for (std::size_t p = 0; p < pieces.size(); ++p) {
        int const owner = pieces[p].owner;
        auto const is_on_way = [&](int r) {
            return r == owner || needs[static_cast<std::size_t>(r) * pieces.size() + p] != 0;
        };
        if (!is_on_way(rank)) continue;
        bool const needed = needs[static_cast<std::size_t>(rank) * pieces.size() + p] != 0;
        step at{p, MPI_PROC_NULL, MPI_PROC_NULL, needed};
        int before = rank, after = rank;
        if (rank != owner) {
            do before = (before + size - 1) % size;
            while (!is_on_way(before));
            at.from = before;
        }
        do after = (after + 1) % size;
        while (!is_on_way(after));
        if (after != owner) at.to = after;
        if (needed || at.to != MPI_PROC_NULL) way.push_back(at);
    }
    return way;
}

}  // namespace fovea::FOVEA_SET::mpi::detail
