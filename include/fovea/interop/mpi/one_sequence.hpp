// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What all ranks make together of the positions of a call, which are one sequence.
#pragma once

#include <fovea/driver/run/workspace.hpp>
#include <fovea/interop/mpi/exchange.hpp>
#include <fovea/spec/call/table_bounds.hpp>
#include <fovea/spec/part/of_part.hpp>
#include <fovea/spec/projected_shapes.hpp>

#include <cstdint>
#include <vector>

namespace fovea::FOVEA_SET::mpi::detail {

/// What all ranks make together, and what is held here.
struct whole_sequence {
    MPI_Comm comm;
    index_t longest;          // piece
    operand_shapes shapes{};  // after projections
    runs queries{}, keys{};   // of this rank
    std::vector<runs> queries_of_ranks{}, keys_of_ranks{};
    std::vector<held_piece> query_pieces{}, pieces{};  // the latter of keys
    told_gradient gradient{};                          // asked for by any rank, saved by all
};

/// The positions of a call are one sequence.
struct one_sequence {
    static std::uint64_t told() { return 0; }
    static index_t states(operand_shapes const& whole) { return whole.batches(); }

    /// The extents of the call after projections, with every check but those of its arrays.
    template <class T, attention_spec A>
    static operand_shapes check(A const& a, operand_shapes const& sources) {
        auto const shapes = projected_shapes(a, sources.query, sources.key, sources.value);
        if constexpr (!enumerating_mask<decltype(a.mask)>) check_tables<T>(a, shapes);
        return shapes;
    }
    static fovea::detail::mapped_at mapped(whole_sequence const& whole, std::vector<index_t> const& queries,
                                           std::vector<index_t> const& keys) {
        return {{queries.data(), whole.shapes.queries()}, {keys.data(), whole.shapes.keys()}};
    }
    static whole_sequence const* parts(workspace&, whole_sequence const& whole) { return &whole; }
    static constexpr bool several = false;
    /// f(sequence, its specification, its outputs, workspace)
    template <attention_spec A, class Asked, class F>
    static void for_each(workspace& scratch, whole_sequence const* whole, A const& a, Asked const& asked, F const& f) {
        f(*whole, a, asked, scratch);
    }
};

}  // namespace fovea::FOVEA_SET::mpi::detail
