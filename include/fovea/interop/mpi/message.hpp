// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Messages of any size, which MPI sends in parts: its counts have 31 bits.
#pragma once

#include <fovea/interop/mpi/ranks.hpp>

#include <algorithm>
#include <cstddef>
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

}  // namespace fovea::FOVEA_SET::mpi::detail
