// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All ranks of a call together, with every check: their one sequence, rows of pages copied into memory, and the work
// that is done while chunks travel.
#pragma once

#include <fovea/driver/call/copies.hpp>
#include <fovea/driver/run/workspace.hpp>
#include <fovea/interop/mpi/check.hpp>
#include <fovea/interop/mpi/exchange.hpp>
#include <fovea/interop/mpi/schedule.hpp>
#include <fovea/parts/chunked.hpp>
#include <fovea/spec/call/table_bounds.hpp>
#include <fovea/spec/part/of_part.hpp>
#include <fovea/spec/result_shapes.hpp>
#include <fovea/spec/shapes.hpp>

#include <pthread.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace fovea::FOVEA_SET::mpi::detail {

/// The type of the numbers that travel: as they are stored, or of the arithmetic where rows are loaded.
template <class Rows, class T>
using sent_element = std::conditional_t<loaded_rows<Rows>, T, element_of_rows<Rows>>;

/// Rows as a view, in memory of the workspace where they lie in pages or are loaded.
template <class T, class Rows>
view<sent_element<Rows, T> const, 4> one_after_another(Rows const& rows, workspace& scratch) {
    if constexpr (is_paged<Rows>) {
        using element = sent_element<Rows, T>;
        auto const all = driver::fresh_rows<element>(scratch, rows.extents);
        for (index_t b = 0; b < all.extent(0); ++b)
            for (index_t h = 0; h < all.extent(1); ++h)
                for (index_t n = 0; n < all.extent(2);) {
                    auto const run = rows.rows_from(b, h, n);
                    for (index_t i = 0; i < run.count; ++i, ++n)
                        std::copy_n(run.first + i * run.stride, all.extent(3), all.place(b, h, n, index_t{0}));
                }
        return all;
    } else {
        return driver::in_memory<T>(rows, scratch);
    }
}

/// The pairs of a mask whose keys lie in a run.
template <class Predicate>
struct mask_of_run : stage<role::mask> {
    Predicate pairs;

    explicit mask_of_run(Predicate const& p) : pairs(p) {}
    constexpr Predicate predicate() const { return pairs; }
    static constexpr std::string_view name = "";
};

/// Errors: shape_error where a query of some rank sees a position that lies in a page which is not there, and what is
/// wrong with pages or scales by themselves.
template <class T, attention_spec A, class Rows>
void check_stored(A const& a, Rows const& rows, operand_shapes const& whole, runs const& held, char const* name) {
    if constexpr (requires { rows.check(name); }) {
        using namespace placeholders;
        rows.check(name);
        auto own = whole;
        own.key[2] = own.value[2] = rows.extent(2);
        for (auto const& run : held) {
            auto const part = of_part(a, {0, run.first - run.place, whole.queries(), whole.keys()});
            auto const pairs = mask_of_run(part.mask.predicate() && kv_idx >= literal<index_t>{run.place}
                                           && kv_idx < literal<index_t>{run.place + run.count});
            attention const seen{part.project, part.score, pairs, part.normalize, part.aggregate};
            check_visible_pages<T>(seen, rows, own, name);
        }
    }
}

/// The global sequence of all ranks, and the positions that this one holds.
struct global_sequence {
    MPI_Comm comm;
    index_t longest;          // piece
    operand_shapes shapes{};  // after projections
    runs queries{}, keys{};   // of this rank
    std::vector<runs> queries_of_ranks{}, keys_of_ranks{};
    std::vector<chunk> query_pieces{}, pieces{};  // the latter of keys
    told_gradient gradient{};                     // asked for by any rank, saved by all
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
    static fovea::detail::mapped_at mapped(global_sequence const& whole, std::vector<index_t> const& queries,
                                           std::vector<index_t> const& keys) {
        return {{}, {queries.data(), whole.shapes.queries()}, {keys.data(), whole.shapes.keys()}};
    }
    static global_sequence const* parts(workspace&, global_sequence const& whole) { return &whole; }
    static constexpr bool several = false;
    /// f(sequence, its specification, its outputs, workspace)
    template <attention_spec A, class Asked, class F>
    static void for_each(workspace& scratch, global_sequence const* whole, A const& a, Asked const& asked, F const& f) {
        f(*whole, a, asked, scratch);
    }
};

/// The rows that some arrays have of the pieces that a rank holds or needs, one piece after the other.
template <class... E>
class travelling_pieces {
    static constexpr std::size_t buffers = 4;  // pieces that are here or on their way at the same time

public:
    /// Errors: std::bad_alloc. Nothing is sent before begin().
    travelling_pieces(MPI_Comm comm, std::vector<chunk> const& pieces, std::vector<step> const& way, index_t longest,
                      arena& memory, view<E const, 4> const&... arrays)
        : comm_(comm), pieces_(pieces), way_(way), arrays_(arrays...) {
        for (auto& buffer : buffers_) {
            buffer.bytes = memory.take<std::byte>(bytes_of(longest));
            buffer.in.reserve(bytes_of(longest));
            buffer.out.reserve(bytes_of(longest));
        }
    }
    travelling_pieces(travelling_pieces const&) = delete;
    travelling_pieces& operator=(travelling_pieces const&) = delete;

    traffic const& counts() const { return counts_; }

    /// The piece of step i is here; those of the next steps are on their way, as far as there is room.
    void arrive(std::size_t i) {
        current_ = i;
        if (started_ == i) {
            wait_in(counts_, [&] { buffers_[i % buffers].out.wait(); });
            start(started_++);
        }
        progress();
        if (!buffers_[i % buffers].in.done())
            wait_in(counts_, [&] {
                while (!buffers_[i % buffers].in.done()) progress();
            });
        forward(i);
        if (way_[i].needed) ++counts_.pieces;
    }

    /// Sends on what has come, and asks for what there is room for. Called between the tasks of a step.
    void progress() {
        while (started_ < std::min(current_ + buffers, way_.size()) && buffers_[started_ % buffers].out.done())
            start(started_++);
        for (std::size_t i = current_; i < started_; ++i)
            if (buffers_[i % buffers].in.done()) forward(i);
    }

    /// The rows of array N of a step.
    template <std::size_t N>
    auto rows(std::size_t i) const {
        auto const& all = std::get<N>(arrays_);
        using rows_type = std::remove_cvref_t<decltype(all)>;
        if (stays(i)) return driver::rows_at(all, piece(i));
        return rows_type{
            reinterpret_cast<decltype(all.data)>(buffers_[i % buffers].bytes + place_of<N>(piece(i).count)),
            {all.extent(0), all.extent(1), piece(i).count, all.extent(3)}};
    }
    chunk const& piece(std::size_t i) const { return pieces_[way_[i].piece]; }

    /// After the last step: what was sent has left.
    void end() {
        wait_in(counts_, [&] {
            for (auto& buffer : buffers_) buffer.out.wait();
        });
    }

private:
    struct buffer_type {
        std::byte* bytes = nullptr;
        message in, out;
        bool forwarded = true;
    };

    template <class T>
    static index_t rows_bytes(view<T const, 4> const& rows, index_t count) {
        return rows.extent(0) * rows.extent(1) * count * rows.extent(3) * static_cast<index_t>(sizeof(T));
    }
    index_t bytes_of(index_t count) const {
        return std::apply([&](auto const&... all) { return piece_bytes_of({rows_bytes(all, count)...}); }, arrays_);
    }
    /// Where array N begins in a piece.
    template <std::size_t N>
    index_t place_of(index_t count) const {
        return [&]<std::size_t... Before>(std::index_sequence<Before...>) {
            return (index_t{0} + ... + lines_of(rows_bytes(std::get<Before>(arrays_), count)));
        }(std::make_index_sequence<N>());
    }
    /// Whether a piece is held here and sent to nobody: then it is read in place.
    bool stays(std::size_t i) const { return way_[i].from == MPI_PROC_NULL && way_[i].to == MPI_PROC_NULL; }
    static int tag_of(std::size_t piece) { return static_cast<int>(piece % 32768); }

    void start(std::size_t i) {
        auto& buffer = buffers_[i % buffers];
        buffer.forwarded = false;
        auto const& at = way_[i];
        if (at.from == MPI_PROC_NULL) {
            if (!stays(i)) {
                [&]<std::size_t... N>(std::index_sequence<N...>) {
                    (pack(std::get<N>(arrays_), rows<N>(i), piece(i)), ...);
                }(std::index_sequence_for<E...>());
            }
            forward(i);
        } else {
            index_t const bytes = bytes_of(piece(i).count);
            buffer.in.receive(buffer.bytes, bytes, at.from, tag_of(at.piece), comm_);
            counts_.bytes_received += bytes;
        }
    }

    void forward(std::size_t i) {
        auto& buffer = buffers_[i % buffers];
        if (buffer.forwarded) return;
        buffer.forwarded = true;
        if (way_[i].to == MPI_PROC_NULL) return;
        index_t const bytes = bytes_of(piece(i).count);
        buffer.out.send(buffer.bytes, bytes, way_[i].to, tag_of(way_[i].piece), comm_);
        counts_.bytes_sent += bytes;
    }

    template <class T>
    static void pack(view<T const, 4> const& rows, view<T const, 4> const& to, chunk const& piece) {
        auto* place = const_cast<T*>(to.data);
        for (index_t b = 0; b < to.extent(0); ++b)
            for (index_t h = 0; h < to.extent(1); ++h)
                for (index_t n = 0; n < to.extent(2); ++n, place += to.extent(3))
                    std::copy_n(rows.place(b, h, piece.place + n, index_t{0}), to.extent(3), place);
    }

    MPI_Comm comm_;
    std::vector<chunk> const& pieces_;
    std::vector<step> const& way_;
    std::tuple<view<E const, 4>...> arrays_;
    std::array<buffer_type, buffers> buffers_;
    std::size_t current_ = 0, started_ = 0;
    traffic counts_;
};

/// The sequence that the ranks have together, with every check; check(shapes) is for what only this rank can tell when
/// it knows the whole. Collective.
template <class T, class Ranks, class Within, attention_spec A, class Call, class Check>
global_sequence gather(MPI_Comm comm, Ranks const& ranks, Within const& within, A const& a, Call const& call,
                       told_gradient const& gradient, Check const& check) {
    auto const element = [](auto const& rows) {
        return static_cast<index_t>(sizeof(sent_element<std::remove_cvref_t<decltype(rows)>, T>));
    };
    auto const all = gather_calls(
        comm, told_call{call.query.extents, call.key.extents, call.value.extents, ranks.piece, element(call.query),
                        element(call.key), element(call.value), within.told(), gradient});
    global_sequence whole{.comm = comm, .longest = ranks.piece};
    on_all_ranks(comm, [&] {
        auto const sources = whole_call(all);
        whole.shapes = within.template check<T>(a, sources);
        check(whole.shapes);
        std::vector<index_t> queries, keys;
        whole.gradient = all.front().gradient;
        for (auto const& each : all) {
            queries.push_back(each.query[2]);
            keys.push_back(each.key[2]);
            whole.gradient.asks_queries = std::max(whole.gradient.asks_queries, each.gradient.asks_queries);
            whole.gradient.asks_keys = std::max(whole.gradient.asks_keys, each.gradient.asks_keys);
            whole.gradient.saved = std::min(whole.gradient.saved, each.gradient.saved);
        }
        whole.queries = runs_of(ranks.queries, queries, rank_in(comm), "query");
        whole.keys = runs_of(ranks.keys, keys, rank_in(comm), "key");
    });
    whole.queries_of_ranks = gather_runs(comm, whole.queries);
    whole.keys_of_ranks = gather_runs(comm, whole.keys);
    on_all_ranks(comm, [&] {
        whole.query_pieces = in_order(whole.queries_of_ranks, ranks.piece, "the queries");
        whole.pieces = in_order(whole.keys_of_ranks, ranks.piece, "the keys");
        check_stored<T>(a, call.key, whole.shapes, whole.keys, "key");
        check_stored<T>(a, call.value, whole.shapes, whole.keys, "value");
    });
    return whole;
}
/// The same of a call of attend: the extents of what is written here as well. Collective.
template <class T, class Ranks, attention_spec A, class Call, class Within = one_sequence>
global_sequence gather(MPI_Comm comm, Ranks const& ranks, A const& a, Call& call, Within const& within = {}) {
    return gather<T>(comm, ranks, within, a, call, {},
                     [&](operand_shapes const& shapes) { check_written(a, shapes, within.states(shapes), call); });
}

/// Which pieces some runs of this rank need: sees(run, piece).
template <class Sees>
std::vector<std::uint8_t> needs_of(std::vector<chunk> const& pieces, runs const& own, Sees const& sees) {
    std::vector<std::uint8_t> needs;
    for (auto const& piece : pieces)
        needs.push_back(std::any_of(own.begin(), own.end(), [&](auto const& run) { return sees(run, piece); }));
    return needs;
}
/// Which pieces of keys the queries of this rank need, all of them or those that they see, and which pieces of queries
/// its keys.
template <class T, bool All = false, attention_spec A>
std::vector<std::uint8_t> needs_of(A const& a, global_sequence const& whole) {
    return needs_of(whole.pieces, cut(whole.queries, whole.longest), [&](auto const& queries, auto const& keys) {
        return All || driver::sees<T>(a, whole.shapes, queries, keys);
    });
}
template <class T, attention_spec A>
std::vector<std::uint8_t> query_needs_of(A const& a, global_sequence const& whole) {
    return needs_of(whole.query_pieces, cut(whole.keys, whole.longest), [&](auto const& keys, auto const& queries) {
        return driver::sees<T>(a, whole.shapes, queries, keys);
    });
}

/// An executor after whose tasks the thread that began the call looks at messages.
///
/// One type whatever travels: what it runs is compiled once.
template <class Executor>
struct looking_executor {
    Executor const& executor;
    void* pieces;
    void (*look)(void* pieces);
    pthread_t caller = pthread_self();

    index_t workers() const { return executor.workers(); }
    template <class Task>
    void run(index_t count, Task const& task) const {
        executor.run(count, [&](index_t i, index_t worker) {
            task(i, worker);
            if (pthread_equal(caller, pthread_self()) != 0) look(pieces);
        });
    }
};
/// Pieces that travel: which of them this rank needs, and the most positions that one has.
struct travelling_plan {
    std::vector<chunk> const& pieces;
    std::vector<std::uint8_t> const& needs;
    index_t longest;
};

/// Calls take(executor, piece, rows of each array...) for the pieces that are needed here, in the order of their
/// positions, while others are on their way, and finish(executor) after the last one. Collective.
template <class Executor, class Take, class Finish, class... E>
void compute_while_travelling(Executor const& executor, workspace& scratch, MPI_Comm comm, travelling_plan const& plan,
                              traffic* counts, Take const& take, Finish const& finish,
                              view<E const, 4> const&... arrays) {
    auto const way = route_of(plan.pieces, gather_needs(comm, plan.needs), rank_in(comm), size_of(comm));
    std::optional<travelling_pieces<E...>> travelling;
    on_all_ranks(comm, [&] { travelling.emplace(comm, plan.pieces, way, plan.longest, scratch.shared(), arrays...); });
    first_thrown error;  // the pieces of others travel on
    looking_executor<Executor> const looking{
        executor, &*travelling, [](void* pieces) { static_cast<travelling_pieces<E...>*>(pieces)->progress(); }};
    for (std::size_t i = 0; i < way.size(); ++i) {
        travelling->arrive(i);
        if (way[i].needed)
            error.unless_thrown([&] {
                [&]<std::size_t... N>(std::index_sequence<N...>) {
                    take(looking, travelling->piece(i), travelling->template rows<N>(i)...);
                }(std::index_sequence_for<E...>());
            });
    }
    error.unless_thrown([&] { finish(looking); });
    travelling->end();
    agree(comm, error.thrown());
    if (counts != nullptr) *counts += travelling->counts();
}

}  // namespace fovea::FOVEA_SET::mpi::detail
