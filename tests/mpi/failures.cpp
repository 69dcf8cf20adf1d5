// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where one rank fails, all throw one sentence, and the next call is as good as the first.
#include "mpi/failing.hpp"
#include "mpi/sequence.hpp"

#include <csignal>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <vector>

using namespace sequences;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr auto spec = scaled_dot | causal | softmax | weighted_sum;

int last_rank() { return world_size() - 1; }
bool is_last() { return world_rank() == last_rank(); }
std::string of_last() { return "rank " + std::to_string(last_rank()) + ": "; }

/// A call over ranks that all hold `own` positions.
struct even_call {
    index_t own = 20;
    tensor<float, 4> q{{1, 2, own, 8}, 1}, k{{1, 2, own, 8}, 1}, v{{1, 2, own, 8}, 1}, out{{1, 2, own, 8}, 7};

    template <class Layout = mpi::contiguous_t>
    void attend(Layout const& layout = {}) {
        fovea::attend(mpi::ranks(MPI_COMM_WORLD, layout).pieces(8), spec, q, k, v, out);
    }
    /// Values that are all 1 have a mean of 1.
    void check_right() {
        attend();
        bool right = true;
        for (float const x : out.elements) right = right && std::abs(x - 1) < 1e-5f;
        CHECK(right);
    }
};

bool dies = false;
struct stopped : std::runtime_error {
    stopped() : std::runtime_error("stopped") {
        if (dies) std::raise(SIGKILL);
    }
};

}  // namespace

TEST_CASE("arrays of one rank that do not fit one another", "[mpi]") {
    even_call c;
    auto const wrong = tensor<float, 4>({1, 2, is_last() ? index_t{19} : index_t{20}, 8});
    CHECK_THROWS_AS(attend(mpi::ranks(MPI_COMM_WORLD), spec, c.q, c.k, wrong, c.out), shape_error);
    CHECK_THROWS_WITH(attend(mpi::ranks(MPI_COMM_WORLD), spec, c.q, c.k, wrong, c.out),
                      of_last() + "value has 19 positions, key has 20");
    CHECK(c.out.elements == std::vector<float>(c.out.elements.size(), 7));
    c.check_right();
}

TEST_CASE("arrays of ranks that do not fit one another", "[mpi]") {
    if (world_size() == 1) return;  // there is no other rank
    even_call c;
    index_t const heads = is_last() ? 1 : 2;
    tensor<float, 4> const k({1, heads, 20, 8}), v({1, heads, 20, 8});
    CHECK_THROWS_WITH(attend(mpi::ranks(MPI_COMM_WORLD), spec, c.q, k, v, c.out),
                      ContainsSubstring("of rank " + std::to_string(last_rank())
                                        + " key is (1, 1, 20, 8), and of rank 0 it is (1, 2, 20, 8)"));
    CHECK_THROWS_WITH(attend(mpi::ranks(MPI_COMM_WORLD).pieces(is_last() ? 8 : 9), spec, c.q, c.k, c.v, c.out),
                      ContainsSubstring("the size of a piece is 8, and of rank 0 it is 9"));
    c.check_right();
}

TEST_CASE("positions that are held by no rank, or by two, or are too many", "[mpi]") {
    even_call c;
    std::vector<index_t> own;
    for (index_t n = 0; n < 20; ++n) own.push_back(world_rank() * 20 + n);
    own.back() += 1;
    CHECK_THROWS_WITH(c.attend(mpi::listed(own)), "rank 0: position 19 of the queries is held by no rank");
    own.back() = world_rank() * 20;
    CHECK_THROWS_WITH(c.attend(mpi::listed(own)), "rank 0: position 0 of the queries is held more than once");
    own.pop_back();
    CHECK_THROWS_WITH(c.attend(mpi::listed(own)),
                      ContainsSubstring("rank 0: query has 20 positions, of " + std::to_string(20 * world_size())
                                        + " on all ranks listed gives it 19"));
    c.check_right();
}

TEST_CASE("a rank that throws amid its tasks", "[mpi]") {
    even_call c;
    for (int task : {0, 1, 5}) {
        int left = is_last() ? task : 1000;
        CHECK_THROWS_WITH(
            attend(failing<stopped>{&left}, mpi::ranks(MPI_COMM_WORLD).pieces(8), spec, c.q, c.k, c.v, c.out),
            of_last() + "stopped");
        left = is_last() ? task : 1000;
        CHECK_THROWS_AS(
            attend(failing<std::bad_alloc>{&left}, mpi::ranks(MPI_COMM_WORLD).pieces(8), spec, c.q, c.k, c.v, c.out),
            std::runtime_error);
    }
    c.check_right();
}

TEST_CASE("a rank that throws amid its tasks, whatever travels", "[mpi]") {
    even_call c;
    std::vector<index_t> offsets(21);
    std::vector<std::int32_t> keys(20);
    for (std::size_t i = 0; i < 20; ++i) {
        offsets[i + 1] = static_cast<index_t>(i) + 1;
        keys[i] = static_cast<std::int32_t>(i * static_cast<std::size_t>(world_size()));
    }
    auto const all = mpi::ranks(MPI_COMM_WORLD).pieces(8);
    auto const check = [&](auto const& of_call, auto const& ranks, index_t queries) {
        tensor<float, 4> const q({1, 2, queries, 8}, 1);
        tensor<float, 4> out({1, 2, queries, 8});
        int left = is_last() ? 0 : 1000;
        CHECK_THROWS_WITH(attend(failing<stopped>{&left}, ranks, of_call, q, c.k, c.v, out), of_last() + "stopped");
        CHECK_NOTHROW(attend(ranks, of_call, q, c.k, c.v, out));
    };
    check(scaled_dot | causal | unnormalized | running_state, all, 20);
    check(scaled_dot | causal | sparsemax | weighted_sum, all, 20);
    check(scaled_dot | neighbors(graph_view{offsets, keys}) | softmax | weighted_sum, all, 20);
    check(scaled_dot | keep(top_k(1)) | softmax | weighted_sum, mpi::ranks(MPI_COMM_WORLD), 1);
}

TEST_CASE("messages of a call are never those of the program", "[mpi]") {
    even_call c;
    int const before = (world_rank() + last_rank()) % world_size(), after = (world_rank() + 1) % world_size();
    int got = -1;
    MPI_Request pending;
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &pending);
    c.check_right();
    int const sent = world_rank();
    MPI_Send(&sent, 1, MPI_INT, after, 0, MPI_COMM_WORLD);
    MPI_Wait(&pending, MPI_STATUS_IGNORE);
    CHECK(got == before);
}

TEST_CASE("a communicator of some ranks, which is freed afterwards", "[mpi]") {
    for (int i = 0; i < 3; ++i) {
        MPI_Comm half = MPI_COMM_NULL;
        MPI_Comm_split(MPI_COMM_WORLD, world_rank() % 2, -world_rank(), &half);
        even_call c;
        attend(mpi::ranks(half), spec, c.q, c.k, c.v, c.out);
        attend(mpi::ranks(half), spec, c.q, c.k, c.v, c.out);
        CHECK(std::abs(c.out(0, 1, 19, 7) - 1) < 1e-5f);
        MPI_Comm_free(&half);
    }
}

// Started by CMakeLists.txt alone: no process may come to its end.
TEST_CASE("a rank that dies amid its tasks", "[.]") {
    even_call c;
    dies = true;
    int left = is_last() ? 1 : 1000;
    attend(failing<stopped>{&left}, mpi::ranks(MPI_COMM_WORLD).pieces(8), spec, c.q, c.k, c.v, c.out);
    std::puts("survived");
}
