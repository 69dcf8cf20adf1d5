// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Listed keys over ranks: a graph is partitioned by the queries of the ranks, and each rank fetches the keys and values
// that its queries list, each of them once.
#pragma once

#include <fovea/driver/run_call.hpp>
#include <fovea/interop/mpi/exchange.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <tuple>
#include <vector>

namespace fovea::FOVEA_SET::mpi::detail {

/// A list of keys and the condition that pairs of it have to meet.
template <class Predicate>
struct listed_mask : stage<role::mask> {
    graph_view graph;
    Predicate condition;

    listed_mask(graph_view const& g, Predicate const& p) : graph(g), condition(p) {}
    constexpr Predicate predicate() const { return condition; }
    constexpr graph_view neighbor_list() const { return graph; }
    static constexpr std::string_view name = "neighbors";
};

/// q_idx and kv_idx are the positions of a list, q_len and kv_len the lengths of the sequence.
struct listed_at {
    view<index_t const, 1> of_queries, of_keys;
    index_t all_queries, all_keys;

    template <class E>
    static constexpr bool changes = uses<E, q_idx_t, kv_idx_t, q_len_t, kv_len_t>;
    template <class E>
    constexpr auto operator()(E const& e) const {
        using namespace placeholders;
        using table = parameter<index_t, 1>;
        auto const with = [](auto const& expression, auto const& index, view<index_t const, 1> const& positions) {
            if constexpr (uses<std::remove_cvref_t<decltype(expression)>, std::remove_cvref_t<decltype(index)>>)
                return substitute(expression, index, table{positions}[index]);
            else return expression;
        };
        return substitute(
            substitute(with(with(e, q_idx, of_queries), kv_idx, of_keys), q_len, literal<index_t>{all_queries}), kv_len,
            literal<index_t>{all_keys});
    }
    template <class E>
    constexpr auto rows(E const& e) const {
        return (*this)(e);
    }
    constexpr fovea::detail::rows_listed queries() const { return {of_queries.data, all_queries}; }
    constexpr fovea::detail::rows_listed keys() const { return {of_keys.data, all_keys}; }
};

/// The keys that the queries of this rank list, numbered in the order of their positions, and who holds them.
class listed_halo {
public:
    /// Errors: std::bad_alloc. The graph has been checked.
    listed_halo(MPI_Comm comm, graph_view const& listed, std::vector<chunk> const& pieces)
        : comm_(comm), listed_(listed), wanted_(static_cast<std::size_t>(size_of(comm))), asked_(wanted_.size()) {
        positions_.assign(listed.keys.begin(), listed.keys.end());
        std::sort(positions_.begin(), positions_.end());
        positions_.erase(std::unique(positions_.begin(), positions_.end()), positions_.end());
        keys_.reserve(listed.keys.size());
        for (auto const key : listed.keys)
            keys_.push_back(static_cast<std::int32_t>(
                std::lower_bound(positions_.begin(), positions_.end(), index_t{key}) - positions_.begin()));
        auto piece = pieces.begin();
        for (std::size_t i = 0; i < positions_.size(); ++i) {
            while (piece->first + piece->count <= positions_[i]) ++piece;
            auto& of_holder = wanted_[static_cast<std::size_t>(piece->owner)];
            of_holder.places.push_back(piece->place + positions_[i] - piece->first);
            of_holder.numbers.push_back(static_cast<index_t>(i));
        }
    }

    std::vector<index_t> const& positions() const { return positions_; }
    graph_view graph() const { return {listed_.offsets, keys_, listed_.numbers}; }
    index_t count() const { return static_cast<index_t>(positions_.size()); }
    /// The positions of this rank that others list.
    index_t asked_by_others() const {
        index_t all = 0;
        for (std::size_t r = 0; r < asked_.size(); ++r)
            if (static_cast<int>(r) != rank_in(comm_)) all += static_cast<index_t>(asked_[r].size());
        return all;
    }

    /// Who is asked for which of its rows. Collective.
    void ask(traffic& counts) {
        std::vector<index_t> wants, asks(wanted_.size());
        for (auto const& rows : wanted_) wants.push_back(static_cast<index_t>(rows.places.size()));
        MPI_Alltoall(wants.data(), sizeof(index_t), MPI_BYTE, asks.data(), sizeof(index_t), MPI_BYTE, comm_);
        on_all_ranks(comm_, [&] {
            for (std::size_t r = 0; r < asks.size(); ++r) asked_[r].resize(static_cast<std::size_t>(asks[r]));
            for (std::size_t r = 0; r < asks.size(); ++r) on_way_.reserve(bytes_of(asked_[r]));
            for (auto const& rows : wanted_) on_way_.reserve(bytes_of(rows.places));
        });
        for (int r = 0; r < size_of(comm_); ++r) {
            auto& asked = asked_[static_cast<std::size_t>(r)];
            auto& wanted = wanted_[static_cast<std::size_t>(r)].places;
            on_way_.receive(reinterpret_cast<std::byte*>(asked.data()), bytes_of(asked), r, 0, comm_);
            on_way_.send(reinterpret_cast<std::byte*>(wanted.data()), bytes_of(wanted), r, 0, comm_);
            if (r == rank_in(comm_)) continue;
            counts.bytes_received += bytes_of(asked);
            counts.bytes_sent += bytes_of(wanted);
        }
        wait_in(counts, [&] { on_way_.wait(); });
    }

    /// The rows that are asked for, of all heads; those of other ranks come from there. Collective.
    template <class T>
    view<T const, 4> fetch(view<T const, 4> const& own, arena& memory, traffic& counts) {
        index_t const batches = own.extent(0), heads = own.extent(1), features = own.extent(3), row = heads * features;
        auto const elements = [&](auto const& rows) { return batches * static_cast<index_t>(rows.size()) * row; };
        auto const bytes = [](index_t n) { return n * static_cast<index_t>(sizeof(T)); };
        view<T, 4> to;
        std::vector<T*> in, out;
        on_all_ranks(comm_, [&] {
            to = {memory.take<T>(batches * count() * row),
                  {batches, heads, count(), features},
                  {count() * row, features, row, 1}};
            for (std::size_t r = 0; r < asked_.size(); ++r) {
                index_t const going = elements(asked_[r]), coming = elements(wanted_[r].places);
                on_way_.reserve(bytes(going));
                on_way_.reserve(bytes(coming));
                out.push_back(memory.take<T>(going));
                in.push_back(static_cast<int>(r) == rank_in(comm_) ? out.back() : memory.take<T>(coming));
                T* next = out.back();
                for (index_t b = 0; b < batches; ++b)
                    for (index_t const place : asked_[r])
                        for (index_t h = 0; h < heads; ++h)
                            for (index_t c = 0; c < features; ++c) *next++ = own(b, h, place, c);
            }
        });
        for (int r = 0; r < size_of(comm_); ++r) {
            if (r == rank_in(comm_)) continue;
            auto const i = static_cast<std::size_t>(r);
            index_t const going = bytes(elements(asked_[i])), coming = bytes(elements(wanted_[i].places));
            on_way_.receive(reinterpret_cast<std::byte*>(in[i]), coming, r, 1, comm_);
            on_way_.send(reinterpret_cast<std::byte*>(out[i]), going, r, 1, comm_);
            counts.bytes_received += coming;
            counts.bytes_sent += going;
        }
        wait_in(counts, [&] { on_way_.wait(); });
        for (std::size_t r = 0; r < in.size(); ++r) {
            T const* next = in[r];
            for (index_t b = 0; b < batches; ++b)
                for (index_t const number : wanted_[r].numbers) {
                    std::copy_n(next, row, to.place(b, index_t{0}, number, index_t{0}));
                    next += row;
                }
        }
        return to;
    }

private:
    static index_t bytes_of(std::vector<index_t> const& list) {
        return static_cast<index_t>(list.size() * sizeof(index_t));
    }

    struct rows_of_rank {
        std::vector<index_t> places;   // there
        std::vector<index_t> numbers;  // here
    };
    MPI_Comm comm_;
    graph_view listed_;
    std::vector<index_t> positions_;
    std::vector<std::int32_t> keys_;  // of the edges, numbered
    std::vector<rows_of_rank> wanted_;
    std::vector<std::vector<index_t>> asked_;  // places here, for each rank
    message on_way_;
};

/// The attention itself, on heads: the keys that are listed come to each rank, which keeps its queries. Collective.
template <class T, class Arch, class Executor, class Whole, attention_spec A, class Q, class K, class V, class Out,
          class... Asked>
void attend_with_lists(Executor const& executor, workspace& scratch, Whole const& whole, A const& a,
                       view<Q const, 4> const& query, view<K const, 4> const& key, view<V const, 4> const& value,
                       view<Out, 4> const& out, std::tuple<Asked...> const& asked, traffic* counts) {
    std::optional<listed_halo> halo;
    std::vector<index_t> queries;
    on_all_ranks(whole.comm, [&] {
        halo.emplace(whole.comm, a.mask.neighbor_list(), whole.pieces);
        for (auto const& run : whole.queries)
            for (index_t n = 0; n < run.count; ++n) queries.push_back(run.first + n);
    });
    traffic sent;
    halo->ask(sent);
    auto const keys = halo->fetch(key, scratch.shared(), sent);
    auto const values = halo->fetch(value, scratch.shared(), sent);
    auto const keep = [](auto const& aggregate) { return aggregate; };
    auto const mapped = rewritten(a,
                                  listed_at{{queries.data(), {query.extent(2)}},
                                            {halo->positions().data(), {halo->count()}},
                                            whole.shapes.queries(),
                                            whole.shapes.keys()},
                                  keep);
    auto const mask = listed_mask(halo->graph(), mapped.mask.predicate());
    attention const here{mapped.project, mapped.score, mask, mapped.normalize, mapped.aggregate};
    operand_shapes const shapes{query.extents, keys.extents, values.extents};
    on_all_ranks(whole.comm, [&] { check_tables<T>(here, shapes); });
    on_all_ranks(whole.comm, [&] {
        auto const bound = std::apply([&](auto const&... each) { return std::tuple(each.bind(shapes)...); }, asked);
        bool const exact = needs_wide_integers<T>(here, shapes);
        driver::run_loop<T, Arch>(
            executor, scratch, here,
            driver::operands<Q, view<K const, 4>, view<V const, 4>, Out, std::remove_const_t<decltype(bound)>>{
                query, keys, values, out, bound, exact});
        driver::finish_outputs<T, A>(executor, bound, out);
    });
    sent.pieces = 1;
    if (counts != nullptr) *counts += sent;
}

}  // namespace fovea::FOVEA_SET::mpi::detail
