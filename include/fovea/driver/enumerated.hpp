// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/graph.hpp>
#include <fovea/driver/arena.hpp>
#include <fovea/driver/operands.hpp>
#include <fovea/driver/workspace.hpp>
#include <fovea/kernel/accumulate.hpp>
#include <fovea/kernel/row.hpp>
#include <fovea/kernel/transform.hpp>
#include <fovea/plan/normalizing.hpp>

#include <algorithm>

namespace fovea::driver {

/// The enumerated traversal: for each query the keys that a graph lists, all of a row at once.
///
/// Terms of one side are computed once per key and head; products and pairwise terms once per edge, lane by
/// feature. Heads of one query follow each other, so the rows of its neighbours are read while they are near.
template <class T, class Arch, class Recipe, class Operands>
class enumerated_loop {
    using parts = decltype(Recipe::score.parts);
    using normalizer_type = std::remove_const_t<decltype(Recipe::normalize)>;
    using normalizing = plan::normalizing<normalizer_type, T>;
    using vector = kernel::pack<T, Arch>;
    using lanes = kernel::lanes_of<T, Arch>;
    static constexpr index_t width = vector::lanes;
    static constexpr index_t products = plan::count_of<decltype(parts::products)>;
    static constexpr index_t planes = std::max<index_t>(products + plan::count_of<decltype(parts::pairs)>, 1);
    static constexpr index_t row_terms = plan::count_of<decltype(parts::rows)>;
    static constexpr index_t key_terms = plan::count_of<decltype(parts::keys)>;
    static constexpr bool always_visible = is_literal<std::remove_const_t<decltype(Recipe::predicate)>>;

public:
    enumerated_loop(Recipe const& recipe, Operands const& operands, graph_view graph)
        : recipe_(recipe), operands_(operands), graph_(graph) {}

    template <class Executor>
    void run(Executor const& executor, workspace& scratch) const {
        index_t const heads = operands_.query.extent(1), keys = operands_.keys();
        T* const terms = scratch.shared().template take<T>(operands_.batches() * keys * heads * key_terms);
        index_t const chunk = 1024;
        index_t const key_chunks = (keys + chunk - 1) / chunk;
        if constexpr (key_terms > 0)
            executor.run(operands_.batches() * key_chunks, [&](index_t task, index_t) {
                index_t const first = task % key_chunks * chunk;
                for (index_t k = first; k < std::min(first + chunk, keys); ++k)
                    prepare_key(task / key_chunks, k, terms);
            });
        index_t const row_chunks = (operands_.queries() + chunk - 1) / chunk;
        executor.run(operands_.batches() * row_chunks, [&](index_t task, index_t worker) {
            auto& memory = scratch.worker(worker);
            memory.clear();
            index_t const first = task % row_chunks * chunk, last = std::min(first + chunk, operands_.queries());
            index_t longest = 1;
            for (index_t q = first; q < last; ++q)
                longest = std::max(longest, static_cast<index_t>(graph_.of(q).size()));
            row_room room;
            room.stride = round_up(longest, width);
            room.scores = memory.template take<T>(planes * room.stride);
            room.raw = memory.template take<T>(room.stride);
            room.keys = memory.template take<std::int32_t>(room.stride);
            room.sums = memory.template take<T>(round_up(operands_.value_features(), width));
            room.all_terms = terms;
            for (index_t q = first; q < last; ++q)
                for (index_t h = 0; h < heads; ++h) row(room, task / row_chunks, h, q);
        });
    }

private:
    /// Scratch for one row, and the key terms of all keys.
    struct row_room {
        T* scores;           // (planes, stride)
        T* raw;              // (stride) scores before they became weights
        std::int32_t* keys;  // (stride) the listed keys, the last one repeated
        T* sums;             // (value features, rounded up)
        T const* all_terms;  // (batch, key, head, term)
        index_t stride;
    };

    T const* terms_of(T const* terms, index_t batch, index_t head, index_t key) const {
        return terms + ((batch * operands_.keys() + key) * operands_.query.extent(1) + head) * key_terms;
    }

    kernel::row_facts facts(index_t batch, index_t head, index_t q) const {
        return {batch, head, q, operands_.queries(), operands_.keys(), operands_.features()};
    }

    void prepare_key(index_t batch, index_t key, T* terms) const {
        for (index_t h = 0; h < operands_.query.extent(1); ++h) {
            auto const row = facts(batch, h, 0);
            auto const* features = &operands_.key(batch, h / operands_.group(), key, 0);
            using element = std::remove_cvref_t<decltype(*features)>;
            kernel::single_environment<T, Arch, element, element> const here{
                {row, key}, features, features, operands_.key_features(), operands_.key_features()};
            T* to = const_cast<T*>(terms_of(terms, batch, h, key));
            plan::for_each_part(recipe_.score.parts.keys,
                                [&](auto const& t) { *to++ = static_cast<T>(evaluate(t.expression, here)); });
        }
    }

    void row(row_room const& room, index_t batch, index_t head, index_t q) const {
        auto const listed = graph_.of(q);
        auto const facts_here = facts(batch, head, q);
        index_t const n = static_cast<index_t>(listed.size()), padded = round_up(n, width);
        std::copy(listed.begin(), listed.end(), room.keys);
        std::fill(room.keys + n, room.keys + padded, n > 0 ? listed.back() : 0);

        score(room, facts_here, n, padded);
        std::copy_n(room.scores, padded, room.raw);
        typename normalizing::state state{};
        using row_type = kernel::packed_row<T, Arch, normalizer_type, kernel::listed_keys>;
        row_type const weights{room.scores, padded / width, {room.keys}};
        bool const final = operands_.weights.data != nullptr || normalizing::whole_row;
        T factor = 1;
        if (final) {
            normalizing::whole(recipe_.normalize, state, weights);
        } else {
            normalizing::fold(recipe_.normalize, state, weights);
            factor = normalizing::finish(recipe_.normalize, state);
        }
        if (operands_.weights.data) write_weights(room, facts_here, n, state);
        aggregate(room, facts_here, n, factor, state);
        if (operands_.lse.data)
            operands_.lse(batch, head, q) =
                static_cast<std::remove_cvref_t<decltype(operands_.lse(0, 0, 0))>>(normalizing::log_sum(recipe_.normalize, state));
    }

    void score(row_room const& room, kernel::row_facts const& row, index_t n, index_t padded) const {
        index_t const key_head = row.head / operands_.group();
        auto const* query = &operands_.query(row.batch, row.head, row.q_idx, 0);
        using query_element = std::remove_cvref_t<decltype(*query)>;
        kernel::single_environment<T, Arch, query_element, query_element> const single{
            {row, index_t{0}}, query, query, row.dim, row.dim};
        T terms[static_cast<std::size_t>(std::max<index_t>(row_terms, 1))] = {};
        T* term = terms;
        plan::for_each_part(recipe_.score.parts.rows,
                            [&](auto const& t) { *term++ = static_cast<T>(evaluate(t.expression, single)); });
        T* plane = room.scores;
        auto const for_edges = [&](auto const& body, T scale) {
            for (index_t e = 0; e < n; ++e) {
                auto const* key = &operands_.key(row.batch, key_head, room.keys[e], 0);
                kernel::index_environment<T, Arch, index_t> const base{row, room.keys[e]};
                plane[e] = scale * kernel::sum_features<T, Arch>(body, base, query, key, row.dim);
            }
            std::fill(plane + n, plane + padded, T{0});
            plane += room.stride;
        };
        plan::for_each_part(recipe_.score.parts.products, [&](auto const& p) {
            for_edges(p.of_query * p.of_key, static_cast<T>(evaluate(p.scale, single)));
        });
        plan::for_each_part(recipe_.score.parts.pairs, [&](auto const& p) { for_edges(p.body, T{1}); });

        for (index_t e = 0; e < padded; e += width) finish_scores(room, row, terms, e, n);
    }

    /// The pointwise rest and the mask on one vector of edges.
    void finish_scores(row_room const& room, kernel::row_facts const& row, T const* terms, index_t e, index_t n) const {
        alignas(64) T key_values[static_cast<std::size_t>(std::max<index_t>(key_terms, 1) * width)];
        for (index_t i = 0; i < width && key_terms > 0; ++i) {
            T const* const from = terms_of(room.all_terms, row.batch, row.head, room.keys[e + i]);
            for (index_t t = 0; t < key_terms; ++t) key_values[t * width + i] = from[t];
        }
        using keys = kernel::index_pack<T, Arch>;
        alignas(64) typename keys::array_type positions;
        for (std::size_t i = 0; i < positions.size(); ++i)
            positions[i] = static_cast<kernel::integer_like<T>>(room.keys[e + static_cast<index_t>(i)]);
        kernel::tile_environment<T, Arch, keys> const here{
            {row, keys::load(positions.data())}, room.scores + e, room.stride, products, terms, key_values, width};
        auto score = kernel::as_pack<T, Arch>(evaluate(recipe_.score.pointwise, here));
        if (!always_visible || e + width > n) {
            auto const visible = (vector::iota() < vector(n - e)) && evaluate(recipe_.predicate, here);
            score = select(visible, score, vector(excluded<T>));
        }
        score.store(room.scores + e);
    }

    template <class State>
    void write_weights(row_room const& room, kernel::row_facts const& row, index_t n, State const& state) const {
        using out = std::remove_cvref_t<decltype(operands_.weights(0, 0, 0, 0))>;
        out* const to = &operands_.weights(row.batch, row.head, row.q_idx, 0);
        std::fill_n(to, operands_.keys(), out{0});
        if constexpr (normalizing::selects) {
            if (recipe_.normalize.selected(state) >= 0) to[recipe_.normalize.selected(state)] = out{1};
        } else {
            for (index_t e = 0; e < n; ++e) to[room.keys[e]] += static_cast<out>(room.scores[e]);
        }
    }

    template <class State>
    void aggregate(row_room const& room, kernel::row_facts const& row, index_t n, T factor, State const& state) const {
        using out = std::remove_cvref_t<decltype(operands_.result(0, 0, 0, 0))>;
        out* const to = &operands_.result(row.batch, row.head, row.q_idx, 0);
        index_t const features = operands_.value_features(), key_head = row.head / operands_.group();
        auto const value_of = [&](index_t key) { return &operands_.value(row.batch, key_head, key, 0); };
        if constexpr (normalizing::selects) {
            index_t const key = recipe_.normalize.selected(state);
            for (index_t c = 0; c < features; ++c) to[c] = key < 0 ? out{0} : static_cast<out>(value_of(key)[c]);
        } else {
            for (index_t c = 0; c < features; c += width) {
                vector sum(T{0});
                for (index_t e = 0; e < n; ++e) {
                    if (room.raw[e] == excluded<T>) continue;
                    sum = kernel::aggregate_step(recipe_.aggregate, sum, vector(room.scores[e]),
                                                 kernel::load_as<T, Arch>(value_of(room.keys[e]) + c, features - c));
                }
                sum = sum * vector(factor);
                if constexpr (std::is_same_v<out, T>) {
                    lanes::store(sum, to + c, features - c);
                } else {
                    auto const lane = lanes::stored(sum);
                    for (index_t i = 0; i < std::min(width, features - c); ++i)
                        to[c + i] = static_cast<out>(lane[static_cast<std::size_t>(i)]);
                }
            }
        }
    }

    Recipe const& recipe_;
    Operands const& operands_;
    graph_view graph_;
};

}  // namespace fovea::driver
