// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The processes of a communicator as fovea uses them: a communicator of their own, and one sentence for all when one of
// them fails.
#pragma once

#include <fovea/interop/mpi/layouts.hpp>

#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#if __has_include(<mpi.h>)
#include <mpi.h>
#else
#include <mpi/mpi.h>  // where Debian has the chosen one
#endif

#include <array>
#include <cstdio>
#include <ctime>
#include <exception>
#include <stdexcept>

namespace fovea::FOVEA_SET::mpi {

namespace detail {
/// The duplicate of a communicator, made when it is first asked for and freed with it: its messages never match those
/// of the program. Collective.
class own_communicator {
public:
    static MPI_Comm of(MPI_Comm comm) {
        void* found = nullptr;
        int is_there = 0;
        MPI_Comm_get_attr(comm, key(), static_cast<void*>(&found), &is_there);
        if (is_there != 0) return *static_cast<MPI_Comm*>(found);
        auto* const own = new MPI_Comm(MPI_COMM_NULL);
        MPI_Comm_dup(comm, own);
        MPI_Comm_set_errhandler(*own, MPI_ERRORS_ARE_FATAL);
        MPI_Comm_set_attr(comm, key(), static_cast<void*>(own));
        return *own;
    }

private:
    static int key() {
        static int const made = [] {
            int k = MPI_KEYVAL_INVALID;
            MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &release, &k, nullptr);
            return k;
        }();
        return made;
    }
    static int release(MPI_Comm, int, void* own, void*) {
        auto* const comm = static_cast<MPI_Comm*>(own);
        int const status = MPI_Comm_free(comm);
        delete comm;
        return status;
    }
};

/// What kind of exception a rank has thrown.
enum class failure : int { shape, graph, argument, other };
struct told_failure {
    failure kind = failure::other;
    std::array<char, 1000> sentence{};
};

inline told_failure told(std::exception_ptr const& thrown, int rank) {
    told_failure says;
    auto const say = [&](failure kind, char const* what) {
        says.kind = kind;
        std::snprintf(says.sentence.data(), says.sentence.size(), "rank %d: %s", rank, what);
    };
    try {
        std::rethrow_exception(thrown);
    } catch (shape_error const& e) {
        say(failure::shape, e.what());
    } catch (graph_error const& e) {
        say(failure::graph, e.what());
    } catch (std::invalid_argument const& e) {
        say(failure::argument, e.what());
    } catch (std::exception const& e) {
        say(failure::other, e.what());
    } catch (...) {
        say(failure::other, "an exception that is no std::exception");
    }
    return says;
}

/// Where a rank has thrown, all throw the sentence of the first that did. Collective.
inline void agree(MPI_Comm comm, std::exception_ptr const& thrown) {
    int rank = 0, size = 0, first = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int const mine = thrown ? rank : size;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, comm);
    if (first == size) return;
    told_failure says;
    if (first == rank) says = told(thrown, rank);
    MPI_Bcast(&says, static_cast<int>(sizeof says), MPI_BYTE, first, comm);
    char const* const sentence = says.sentence.data();
    switch (says.kind) {
        case failure::shape:
            throw shape_error(sentence);
        case failure::graph:
            throw graph_error(sentence);
        case failure::argument:
            throw std::invalid_argument(sentence);
        case failure::other:
            break;
    }
    throw std::runtime_error(sentence);
}

/// What this rank throws first while what others wait for goes on: nothing is done after it, until the ranks agree.
class first_thrown {
public:
    template <class F>
    void unless_thrown(F const& f) {
        if (thrown_) return;
        try {
            f();
        } catch (...) {
            thrown_ = std::current_exception();
        }
    }
    std::exception_ptr const& thrown() const { return thrown_; }

private:
    std::exception_ptr thrown_;
};

/// Runs f, which does not talk to other ranks; where it throws on one of them, all throw. Collective.
template <class F>
void on_all(MPI_Comm comm, F const& f) {
    first_thrown error;
    error.unless_thrown(f);
    agree(comm, error.thrown());
}
}  // namespace detail

/// What one rank has sent and received in a call, and how long it had nothing to compute.
struct traffic {
    index_t bytes_sent = 0, bytes_received = 0;
    index_t pieces = 0;  // of keys, that were computed
    double seconds_waited = 0;
    double processor_seconds_waited = 0;  // of them, those in which it had a processor, and looked for messages

    traffic& operator+=(traffic const& more) {
        bytes_sent += more.bytes_sent;
        bytes_received += more.bytes_received;
        pieces += more.pieces;
        seconds_waited += more.seconds_waited;
        processor_seconds_waited += more.processor_seconds_waited;
        return *this;
    }
};

namespace detail {
/// Runs f, which waits for messages.
template <class F>
void wait_in(traffic& counts, F const& f) {
    double const since = MPI_Wtime();
    auto const processor = std::clock();
    f();
    counts.seconds_waited += MPI_Wtime() - since;
    counts.processor_seconds_waited += static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC;
}
}  // namespace detail

/// The processes of a communicator, and who holds which queries and keys.
template <class Queries, class Keys>
struct ranks_t {
    using explained_by_itself = void;
    static constexpr int turn_before_specification = 2;  // after an executor and a workspace
    static constexpr index_t usual_piece = 768;          // a multiple of the rows of all tiles

    MPI_Comm comm;
    Queries queries;
    Keys keys;
    index_t piece = usual_piece;
    traffic* counts = nullptr;

    /// pieces(n): no piece has more than n positions; they are cut at multiples of n.
    ranks_t pieces(integer_argument n) const {
        fovea::detail::require_1_or_more("ranks: the positions of a piece", n.value);
        auto changed = *this;
        changed.piece = n.value;
        return changed;
    }
    /// counted_in(traffic): calls add what this rank sends and receives.
    ranks_t counted_in(traffic& to) const {
        auto changed = *this;
        changed.counts = &to;
        return changed;
    }
};

template <class Queries, class Keys>
auto ranks(MPI_Comm comm, Queries const& queries, Keys const& keys) {
    return ranks_t<Queries, Keys>{comm, queries, keys};
}
template <class Layout = contiguous_t>
auto ranks(MPI_Comm comm, Layout const& both = {}) {
    return ranks_t<Layout, Layout>{comm, both, both};
}

}  // namespace fovea::FOVEA_SET::mpi
