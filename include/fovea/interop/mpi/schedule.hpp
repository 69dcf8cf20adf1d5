// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Choice between ring (pass-KV) and pass-Q, with the bytes that each sends: by global sizes alone, so
// that results have the same bits under any distribution.
#pragma once

#include <fovea/driver/run/workspace.hpp>
#include <fovea/interop/mpi/exchange.hpp>
#include <fovea/parts/partial_rows.hpp>
#include <fovea/spec/shapes.hpp>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <vector>

namespace fovea::FOVEA_SET::mpi {

/// The schedule of a call: ring (pass-KV), where chunks of keys and values travel past all queries that see them, or
/// pass-Q, where queries travel to all keys, and partial results back.
enum class schedule { ring, pass_q };

namespace detail {
/// A piece as it is sent: the bytes of one array after the other, in whole lines but for the last.
inline index_t lines_of(index_t bytes) { return round_up(bytes, static_cast<index_t>(arena::alignment)); }
inline index_t piece_bytes_of(std::initializer_list<index_t> arrays) {
    index_t bytes = 0;
    for (index_t const each : arrays) bytes = lines_of(bytes) + each;
    return std::max<index_t>(bytes, static_cast<index_t>(arena::alignment));
}

/// Bytes of an element of queries, of keys and of values, and of what is left of a row of queries after some keys.
struct sent_sizes {
    index_t query, key, value, partial;
};

/// The sizes of a call that its way depends on.
struct call_bytes {
    operand_shapes shapes;
    sent_sizes of;

    index_t piece(index_t count) const {
        index_t const rows = shapes.batches() * shapes.key_heads() * count;
        return piece_bytes_of({rows * shapes.key[3] * of.key, rows * shapes.features() * of.value});
    }
    index_t queries(index_t count) const {
        return shapes.batches() * shapes.heads() * count * shapes.query[3] * of.query;
    }
    /// A partial result for some queries.
    index_t partial(index_t count) const { return shapes.batches() * shapes.heads() * count * of.partial; }
};

/// Queries travel where the partial results of all of them over a piece have fewer bytes than the piece, if they can be
/// merged.
inline schedule chosen_schedule(call_bytes const& bytes, index_t longest, bool merges) {
    index_t const piece = std::min(longest, bytes.shapes.keys());
    return merges && bytes.partial(bytes.shapes.queries()) < bytes.piece(piece) ? schedule::pass_q : schedule::ring;
}

/// The bytes that each rank sends on a ring, of bytes_of(positions); `needs` says which pieces each rank needs: (rank,
/// piece).
template <class Bytes>
std::vector<index_t> sent_pieces(Bytes const& bytes_of, std::vector<chunk> const& pieces,
                                 std::vector<std::uint8_t> const& needs, int ranks) {
    std::vector<index_t> sent;
    for (int r = 0; r < ranks; ++r) {
        index_t of_rank = 0;
        for (auto const& at : route_of(pieces, needs, r, ranks))
            if (at.to != MPI_PROC_NULL) of_rank += bytes_of(pieces[at.piece].count);
        sent.push_back(of_rank);
    }
    return sent;
}

/// The bytes that each rank sends in pass-Q: its queries to all others, and to each of these one partial result for
/// its queries of each subtree of pieces.
inline std::vector<index_t> sent_queries(call_bytes const& bytes, std::vector<driver::subtree> const& trees,
                                         std::vector<runs> const& queries) {
    std::vector<index_t> own, sent;
    for (auto const& held : queries) own.push_back(positions_in(held));
    index_t const all = std::accumulate(own.begin(), own.end(), index_t{0});
    for (index_t const count : own) sent.push_back(bytes.queries(count) * (static_cast<index_t>(own.size()) - 1));
    for (auto const& tree : trees) {
        auto const owner = static_cast<std::size_t>(tree.owner);
        sent[owner] += bytes.partial(all - own[owner]);
    }
    return sent;
}
}  // namespace detail

}  // namespace fovea::FOVEA_SET::mpi
