// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Messages of any size go in parts, as many as it takes.
#include <fovea/interop/mpi/exchange.hpp>

#include "catch.hpp"

#include <vector>

using namespace fovea;
using bytes = std::vector<std::byte>;

namespace {

constexpr index_t most = 64;  // bytes of a part

int world_rank() { return mpi::detail::rank_in(MPI_COMM_WORLD); }
int world_size() { return mpi::detail::size_of(MPI_COMM_WORLD); }

bytes message_of(int rank, std::size_t count) {
    bytes all(count);
    for (std::size_t i = 0; i < count; ++i)
        all[i] = static_cast<std::byte>((i * 7 + static_cast<unsigned>(rank)) % 251);
    return all;
}

}  // namespace

TEST_CASE("messages in parts arrive whole and in order", "[mpi]") {
    int const after = (world_rank() + 1) % world_size(), before = (world_rank() + world_size() - 1) % world_size();
    for (std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{64}, std::size_t{65}, std::size_t{1000}}) {
        auto const sent = message_of(world_rank(), count), next = message_of(world_rank() + 1, count);
        bytes got(count), got_next(count);
        auto const size = static_cast<index_t>(count);
        mpi::detail::message in(most), out(most);
        in.receive(got.data(), size, before, 3, MPI_COMM_WORLD);  // two of them with one tag, one after the other
        in.receive(got_next.data(), size, before, 3, MPI_COMM_WORLD);
        out.send(sent.data(), size, after, 3, MPI_COMM_WORLD);
        out.send(next.data(), size, after, 3, MPI_COMM_WORLD);
        while (!in.done()) static_cast<void>(out.done());
        out.wait();
        CHECK(got == message_of(before, count));
        CHECK(got_next == message_of(before + 1, count));
    }
}

TEST_CASE("all ranks get the message of one, in parts", "[mpi]") {
    std::vector<bytes> got;
    for (int r = 0; r < world_size(); ++r) got.push_back(r == world_rank() ? message_of(r, 333) : bytes(333));
    mpi::detail::message on_way(most);
    for (int r = 0; r < world_size(); ++r)
        on_way.broadcast(got[static_cast<std::size_t>(r)].data(), 333, r, MPI_COMM_WORLD);
    on_way.wait();
    for (int r = 0; r < world_size(); ++r) CHECK(got[static_cast<std::size_t>(r)] == message_of(r, 333));
}
