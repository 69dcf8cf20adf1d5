// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The processes of a communicator as fovea uses them, the positions of a sequence that each holds, and one sentence for
// all when one of them fails.
#pragma once

#include <fovea/core/errors.hpp>
#include <fovea/core/integer_argument.hpp>
#include <fovea/core/view.hpp>
#include <fovea/spec/part/of_part.hpp>

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

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace fovea::FOVEA_SET::mpi {

using runs = std::vector<position_run>;

namespace detail {
inline index_t positions_in(runs const& all) {
    index_t n = 0;
    for (auto const& run : all) n += run.count;
    return n;
}
inline void add_run(runs& to, index_t first, index_t count) {
    if (count > 0) to.push_back({first, count, positions_in(to)});
}
}  // namespace detail

/// contiguous: each rank holds the positions that follow those of the rank before it, as many as it likes.
struct contiguous_t {
    static runs held(std::vector<index_t> const& counts, index_t rank) {
        index_t first = 0;
        for (index_t r = 0; r < rank; ++r) first += counts[static_cast<std::size_t>(r)];
        runs own;
        detail::add_run(own, first, counts[static_cast<std::size_t>(rank)]);
        return own;
    }
    static std::string text() { return "contiguous"; }
};
inline constexpr contiguous_t contiguous{};

/// striped(block): blocks of positions are dealt to the ranks one after the other, and so on from the first rank.
struct striped_t {
    index_t block;

    runs held(index_t positions, index_t rank, index_t ranks) const {
        runs own;
        for (index_t first = rank * block; first < positions; first += ranks * block)
            detail::add_run(own, first, std::min(block, positions - first));
        return own;
    }
    std::string text() const { return "striped(" + std::to_string(block) + ")"; }
};
inline striped_t striped(integer_argument block) {
    fovea::detail::require_1_or_more("striped: the block", block.value);
    return {block.value};
}

/// zigzag: of twice as many chunks as there are ranks, rank r holds chunk r from the front and chunk r from the back.
struct zigzag_t {
    static runs held(index_t positions, index_t rank, index_t ranks) {
        auto const first = [&](index_t chunk) { return chunk * positions / (2 * ranks); };
        runs own;
        for (index_t const chunk : {rank, 2 * ranks - 1 - rank})
            detail::add_run(own, first(chunk), first(chunk + 1) - first(chunk));
        return own;
    }
    static std::string text() { return "zigzag"; }
};
inline constexpr zigzag_t zigzag{};

/// listed(runs): this rank's positions as runs of adjacent ones, in the order in which it has them; each rank its own.
struct listed_t {
    runs own;
    static std::string text() { return "listed"; }
};
template <class Positions>
listed_t listed(Positions const& positions) {
    listed_t all;
    for (auto const p : positions) {
        auto const position = static_cast<index_t>(p);
        if (!all.own.empty() && all.own.back().first + all.own.back().count == position) ++all.own.back().count;
        else all.own.push_back({position, 1, fovea::mpi::detail::positions_in(all.own)});
    }
    return all;
}

namespace detail {
/// The runs of this rank, which has counts[rank] positions.
template <class Layout>
runs runs_of(Layout const& layout, std::vector<index_t> const& counts, index_t rank, char const* what) {
    index_t const has = counts[static_cast<std::size_t>(rank)];
    index_t all = 0;
    for (index_t const n : counts) all += n;
    auto const own = [&] {
        if constexpr (std::is_same_v<Layout, listed_t>) return layout.own;
        else if constexpr (std::is_same_v<Layout, contiguous_t>) return layout.held(counts, rank);
        else return layout.held(all, rank, static_cast<index_t>(counts.size()));
    }();
    if (positions_in(own) != has)
        throw shape_error(what, " has ", fovea::detail::counted(has, "position"), ", of ", all, " on all ranks ",
                          layout.text(), " gives it ", positions_in(own));
    return own;
}

/// Runs, cut where the position is a multiple of `longest`.
inline runs cut(runs const& whole, index_t longest) {
    runs pieces;
    for (auto const& run : whole)
        for (index_t first = run.first; first < run.first + run.count;) {
            index_t const count = std::min(longest - first % longest, run.first + run.count - first);
            pieces.push_back({first, count, run.place + first - run.first});
            first += count;
        }
    return pieces;
}

/// A piece of the keys, and the rank that holds it.
struct chunk : position_run {
    int owner = 0;
};

/// The pieces of all ranks in the order of their positions.
///
/// Errors: shape_error where a position is held by no rank, or by more than one.
inline std::vector<chunk> in_order(std::vector<runs> const& of_ranks, index_t longest, char const* what) {
    std::vector<chunk> pieces;
    for (std::size_t r = 0; r < of_ranks.size(); ++r)
        for (auto const& piece : cut(of_ranks[r], longest)) pieces.push_back({piece, static_cast<int>(r)});
    std::sort(pieces.begin(), pieces.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
    index_t next = 0;
    for (auto const& piece : pieces) {
        if (piece.first > next) throw shape_error("position ", next, " of ", what, " is held by no rank");
        if (piece.first < next) throw shape_error("position ", piece.first, " of ", what, " is held more than once");
        next += piece.count;
    }
    return pieces;
}
}  // namespace detail

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

/// The kind of exception that a rank has thrown.
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

/// The first exception of this rank, kept while what others wait for goes on: nothing is done after it, until the ranks
/// agree.
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
void on_all_ranks(MPI_Comm comm, F const& f) {
    first_thrown error;
    error.unless_thrown(f);
    agree(comm, error.thrown());
}
}  // namespace detail

/// The traffic of one rank in a call, and how long it had nothing to compute.
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
