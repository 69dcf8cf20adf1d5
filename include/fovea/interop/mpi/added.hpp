// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Outputs that add over the queries of all ranks: those of each piece of queries by itself, added in the order of their
// positions, so that they have the same bits on any number of ranks.
#pragma once

#include <fovea/interop/mpi/exchange.hpp>
#include <fovea/interop/mpi/message.hpp>
#include <fovea/spec/call/named_sums.hpp>
#include <fovea/spec/outputs.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace fovea::FOVEA_SET::mpi::detail {

/// All ranks get the sums over all queries; `attention` has those of the runs of this one. Collective, and nothing is
/// allocated but what `room` was given for.
class added_outputs {
public:
    /// Errors: std::bad_alloc, and shape_error where the pieces of the queries are not a sequence.
    template <class Attention>
    added_outputs(MPI_Comm comm, std::vector<runs> const& queries, index_t longest, Attention const& attention)
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
                bool const here = pieces_[p].holder == rank_in(comm_);
                auto* const sums = here ? of_run(numbers_[p]) : reinterpret_cast<T*>(room_.data());
                on_way_.broadcast(reinterpret_cast<std::byte*>(sums), bytes_of(asked.target), pieces_[p].holder, comm_);
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
    std::vector<held_piece> pieces_;    // of the queries of all ranks
    std::vector<std::size_t> numbers_;  // among those of this rank
    std::vector<std::byte> room_;
    message on_way_;
};

}  // namespace fovea::FOVEA_SET::mpi::detail
