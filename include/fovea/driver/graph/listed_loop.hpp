// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The traversal of listed keys, such as the edges of a graph: SDDMM, normalizer and SpMM for one query after the other.
#pragma once

#include <fovea/core/graph.hpp>
#include <fovea/driver/graph/listed_rows.hpp>
#include <fovea/driver/run/part.hpp>
#include <fovea/kernel/head_sums.hpp>

#include <algorithm>
#include <numeric>

namespace fovea::FOVEA_SET::driver {

/// The traversal of listed keys, a row of all heads at a time: scores are an SDDMM, sums of values an SpMM.
///
/// Lanes hold the heads of one key, then those of the next, so that short rows fill vectors and what a key has for all
/// heads is loaded at once. Terms of one side are computed before, once for each key and head; the rows of later keys
/// are prefetched.
template <class Call>
class listed_loop {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using Spec = typename Call::spec;
    using Operands = typename Call::operands;
    using parts = decltype(Spec::score.parts);
    using vector = kernel::pack<T, Arch>;
    using rows_type = listed_rows<Call>;
    static constexpr index_t width = vector::lanes;
    static constexpr index_t products = plan::count_of<decltype(parts::products)>;
    static constexpr index_t planes = products + plan::count_of<decltype(parts::pairs)>;
    static constexpr index_t row_terms = plan::count_of<decltype(parts::rows)>;
    static constexpr index_t key_terms = plan::count_of<decltype(parts::keys)>;

public:
    listed_loop(Spec const& spec, Operands const& operands, graph_view graph)
        : spec_(spec), operands_(operands), graph_(graph), lanes_(operands.query.extent(1)) {
        index_t const stride = head_stride(operands.query), features = operands.features();
        joined_ = operands.group() == 1 && stride == head_stride(operands.key) && features == operands.key_features()
               && kernel::fills_vectors<T, Arch>(features, stride, lanes_);
        auto const joins = [&](auto const& body) { return kernel::joins_heads(body, lanes_.heads, features); };
        plan::for_each_part(spec.score.parts.products,
                            [&](auto const& p) { joined_ = joined_ && joins(p.of_query) && joins(p.of_key); });
        plan::for_each_part(spec.score.parts.pairs, [&](auto const& p) { joined_ = joined_ && joins(p.body); });
        joined_ = joined_ && !operands.exact;
        index_t const of_key = key_terms * lanes_.padded_heads * index_t{sizeof(T)} + position_bytes(operands.value)
                             + (planes > 0 ? position_bytes(operands.key) : 0);
        prefetches_ = prefetches_positions(of_key, operands.keys());
    }

    template <class Executor>
    void run(Executor const& executor, workspace& scratch) const {
        auto& shared = scratch.shared();
        T* const key_values = shared.template take<T>(operands_.batches() * key_terms * term_stride(operands_.keys()));
        T* const row_values =
            shared.template take<T>(operands_.batches() * row_terms * term_stride(operands_.queries()));
        bool const measures = scratch.measures();
        if (!measures) {
            compute_side_terms<kernel::side::key, T, Arch>(whole(executor), operands_, lanes_, spec_.score.parts.keys,
                                                           key_values);
            compute_side_terms<kernel::side::query, T, Arch>(whole(executor), operands_, lanes_, spec_.score.parts.rows,
                                                             row_values);
        }
        index_t const queries_of_task = Operands::outputs_reduce_over_queries || measures
                                          ? std::max<index_t>(operands_.queries(), 1)
                                          : positions_of_task;
        index_t const tasks_of_batch = ceil_div(operands_.queries(), queries_of_task);
        executor.run(scratch.tasks(operands_.batches() * tasks_of_batch), [&](index_t task, index_t worker) {
            auto& memory = scratch.worker(worker);
            memory.clear();
            index_t const batch = task / tasks_of_batch;
            index_t const first = task % tasks_of_batch * queries_of_task,
                          last = std::min(first + queries_of_task, operands_.queries());
            index_t longest = 1;
            for (index_t q = first; q < last; ++q) longest = std::max<index_t>(longest, std::ssize(graph_.of(q)));
            rows_type rows(spec_, operands_, lanes_, memory, longest);
            task_scratch const here{key_values + batch * key_terms * term_stride(operands_.keys()),
                                    row_values + batch * row_terms * term_stride(operands_.queries()),
                                    memory.template take<T>((row_terms + products) * lanes_.common_period(width)),
                                    memory.template take<index_t>(longest + width),
                                    {operands_.value, batch, operands_.value_features()},
                                    {operands_.key, batch, operands_.key_features()},
                                    {operands_.key, batch}};
            for (index_t q = first; q < last && !measures; ++q) query(rows, here, batch, q);
        });
    }

private:
    /// The memory of a task: the terms of one side, and those of one query repeated for all lanes.
    struct task_scratch {
        T const* of_keys;     // (terms, keys, head lanes)
        T const* of_queries;  // (terms, queries, head lanes)
        T* row;               // (terms, then scales of products; period)
        index_t* edges;       // (keys of one query) their numbers, the last one repeated
        position_prefetch<decltype(Operands::value)> values;
        position_prefetch<decltype(Operands::key)> keys;
        batch_rows<decltype(Operands::key)> key_rows;
    };

    index_t term_stride(index_t positions) const { return driver::term_stride<T, Arch>(lanes_, positions); }

    /// Prefetches the terms and values of the keys of edges [first, end) of the list, and the features that are
    /// compared.
    FOVEA_INLINE void prefetch(task_scratch const& here, index_t first, index_t end) const {
        auto const values = here.values;  // copies stay in registers
        auto const keys = here.keys;
        std::int32_t const* const listed = graph_.keys.data();
        for (index_t e = first; e < end; ++e) {
            index_t const key = listed[e];
            for (index_t t = 0; t < key_terms; ++t)
                __builtin_prefetch(here.of_keys + t * term_stride(operands_.keys()) + lanes_.pairs(key));
            values.prefetch(key);
            if constexpr (planes > 0) keys.prefetch(key);
        }
    }

    /// One query: scores of all its pairs, a vector at a time; then its rows are finished. The memory of edges further
    /// on is prefetched meanwhile.
    void query(rows_type& rows, task_scratch const& here, index_t batch, index_t q) const {
        auto row = facts_of(operands_, batch, 0, q);
        auto const listed = graph_.of(q);
        index_t const first_edge = graph_.offsets[static_cast<std::size_t>(q)];
        index_t const n = std::ssize(listed);
        if constexpr (Call::numbers_edges) {
            if (graph_.numbers.empty()) std::iota(here.edges, here.edges + n, first_edge);
            else std::copy_n(graph_.numbers.data() + first_edge, n, here.edges);
            std::fill_n(here.edges + n, width, n > 0 ? here.edges[n - 1] : 0);
            row.edges = here.edges;
        }
        take_row(here, row);
        bool excluding = false;
        for (index_t pair = 0; pair < lanes_.pairs(n); pair += width) {
            if (prefetches_ && lanes_.head(pair) == 0) {
                index_t const from = first_edge + edges_ahead, end = std::min(lanes_.key(pair + width - 1) + 1, n);
                prefetch(here, from + lanes_.key(pair), std::min(from + end, graph_.edges()));
            }
            excluding = score(rows.scores() + pair, here, row, listed, pair) || excluding;
        }
        rows.finish(row, listed, excluding);
    }

    /// The row terms of one query and the scales of its products, repeated over a common period of heads and vectors.
    void take_row(task_scratch const& here, kernel::row_coordinates const& row) const {
        index_t const period = lanes_.common_period(width);
        for (index_t t = 0; t < row_terms; ++t)
            for (index_t l = 0; l < period; l += width)
                kernel::lane_groups_of<T, Arch>::repeated(
                    here.of_queries + t * term_stride(operands_.queries()) + lanes_.pairs(row.q_idx) + l,
                    lanes_.padded_heads)
                    .store(here.row + t * period + l);
        T* scale = here.row + row_terms * period;
        plan::for_each_part(spec_.score.parts.products, [&](auto const& p) {
            if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(p.scale)>, plan::unit>) {
                for (index_t h = 0; h < lanes_.heads; ++h) {
                    auto of_head = row;
                    of_head.head = h;
                    auto const* features = operands_.query.place(row.batch, h, row.q_idx, 0);
                    using element = std::remove_cvref_t<decltype(*features)>;
                    kernel::single_environment<T, Arch, element, element> const names{
                        {of_head, index_t{0}}, features, features, row.dim, row.dim};
                    scale[h] = static_cast<T>(evaluate(p.scale, names));
                }
                for (index_t l = lanes_.heads; l < period; ++l)
                    scale[l] = lanes_.head(l) < lanes_.heads ? scale[lanes_.head(l)] : T{0};
            }
            scale += period;
        });
    }

    /// One vector of scores; true where a pair is excluded.
    FOVEA_INLINE bool score(T* to, task_scratch const& here, kernel::row_coordinates const& row,
                            std::span<std::int32_t const> listed, index_t pair) const {
        constexpr index_t parts_of_pair = std::max<index_t>(planes + key_terms, 1);
        index_t const n = std::ssize(listed), period = lanes_.common_period(width);
        vector found[static_cast<std::size_t>(parts_of_pair)];
        if constexpr (planes > 0) compare(found, here, row, listed, pair);
        for (index_t t = 0; t < key_terms; ++t) {
            T const* const values = here.of_keys + t * term_stride(operands_.keys()) + lanes_.head(pair);
            found[planes + t] = kernel::lane_groups_of<T, Arch>::gathered(
                [&](index_t i) FOVEA_LAMBDA {
                    return values + lanes_.pairs(listed.data()[std::min(lanes_.key(pair) + i, n - 1)]);
                },
                lanes_.padded_heads);
        }
        kernel::pair_environment<T, Arch, parts_of_pair> const names{
            {row}, listed.data(), n, lanes_, pair, found, products, planes - products, here.row + (pair & (period - 1)),
            period};
        auto score = kernel::value_in_lanes<T, Arch>(spec_.score.pointwise, names);
        if constexpr (Call::masks) {
            score = select(kernel::mask_in_lanes<T, Arch>(spec_.predicate, names), score, vector(excluded<T>));
        }
        auto excluding = score == vector(excluded<T>);
        if (index_t const left = lanes_.pairs(n) - pair; left < width) {
            auto const present = vector::iota() < vector(left);
            excluding = excluding && present;
            score = select(present, score, vector(excluded<T>));
        }
        score.store(to);
        return excluding.any();
    }

    /// Products and pairwise terms of one vector of pairs.
    FOVEA_INLINE void compare(vector* sums, task_scratch const& here, kernel::row_coordinates const& row,
                              std::span<std::int32_t const> listed, index_t pair) const {
        auto const pairs = [row, keys = listed.data(), query = operands_.query.place(row.batch, 0, row.q_idx, 0),
                            stride = operands_.query.stride(1), key_head = key_head_,
                            key_rows = here.key_rows](index_t edge, index_t head) FOVEA_LAMBDA {
            index_t const key = keys[edge];
            auto const* key_row = key_rows(key_head(head), key);
            auto of_head = row;
            of_head.head = head;
            return kernel::pair_rows<std::remove_cvref_t<decltype(*query)>, std::remove_cvref_t<decltype(*key_row)>>{
                of_head, key, edge, query + head * stride, key_row};
        };
        auto const sum = [&](auto const& body, auto const& over) FOVEA_LAMBDA {
            return kernel::head_sums_over<T, Arch>(over, body, lanes_, pair, std::ssize(listed), pairs,
                                                   {row.dim, operands_.key_features()}, joined_);
        };
        T const* scale =
            here.row + row_terms * lanes_.common_period(width) + (pair & (lanes_.common_period(width) - 1));
        plan::for_each_part(spec_.score.parts.products, [&](auto const& p) {
            *sums = sum(p.of_query * p.of_key, p.over);
            if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(p.scale)>, plan::unit>)
                *sums = *sums * vector::load(scale);
            ++sums;
            scale += lanes_.common_period(width);
        });
        plan::for_each_part(spec_.score.parts.pairs, [&](auto const& p) { *sums++ = sum(p.body, p.over); });
    }

    Spec const& spec_;
    Operands const& operands_;
    graph_view graph_;
    kernel::head_lanes lanes_;
    key_head_of key_head_{operands_.group()};
    bool joined_;      // vectors of features span the heads of an edge
    bool prefetches_;  // keys are short, and too many for the caches
};

}  // namespace fovea::FOVEA_SET::driver
