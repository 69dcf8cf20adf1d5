// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/graph.hpp>
#include <fovea/driver/arena.hpp>
#include <fovea/driver/operands.hpp>
#include <fovea/driver/workspace.hpp>
#include <fovea/kernel/accumulate.hpp>
#include <fovea/kernel/reweigh.hpp>
#include <fovea/kernel/terms.hpp>
#include <fovea/kernel/transform.hpp>
#include <fovea/plan/normalizing.hpp>

#include <algorithm>
#include <memory>

namespace fovea::driver {

/// The enumerated traversal: for each query the keys that a graph lists, all of a row at once.
///
/// Terms of one side are computed once per key and head; products and pairwise terms once per edge, lane by
/// feature. Heads of one query follow each other, so the rows of its neighbours are read while they are near.
template <class T, class Arch, class Recipe, class Operands>
class enumerated_loop {
    using parts = decltype(Recipe::score.parts);
    using normalizing = plan::normalizing<std::remove_const_t<decltype(Recipe::normalize)>, T>;
    using state = typename normalizing::state;
    using vector = kernel::pack<T, Arch>;
    using lanes = kernel::lanes_of<T, Arch>;
    static constexpr index_t width = vector::lanes;
    static constexpr index_t products = plan::count_of<decltype(parts::products)>;
    static constexpr index_t planes = std::max<index_t>(products + plan::count_of<decltype(parts::pairs)>, 1);
    static constexpr bool compares = products + plan::count_of<decltype(parts::pairs)> > 0;
    static constexpr index_t row_terms = plan::count_of<decltype(parts::rows)>;
    static constexpr index_t key_terms = plan::count_of<decltype(parts::keys)>;
    static constexpr index_t usual_share = 1024;  // queries, or keys, of one task
    static constexpr index_t chunk = 64;  // edges whose rows stay near while all heads use them; a multiple of any width
    static constexpr index_t ahead = 48;  // edges between asking for the rows of a key and using them
    using aggregator_type = std::remove_const_t<decltype(Recipe::aggregate)>;
    static constexpr bool selects = normalizing::selects && !Recipe::reweights && linear_aggregator<aggregator_type>;
    static constexpr bool whole_rows = normalizing::whole_row || Recipe::reweights_rows || Operands::looks_at_rows ||
                                       (normalizing::selects && !selects);
    static constexpr bool always_visible = is_literal<std::remove_const_t<decltype(Recipe::predicate)>>;

public:
    enumerated_loop(Recipe const& recipe, Operands const& operands, graph_view graph)
        : recipe_(recipe), operands_(operands), graph_(graph) {}

    template <class Executor>
    void run(Executor const& executor, workspace& scratch) const {
        index_t const heads = operands_.query.extent(1), keys = operands_.keys();
        auto& shared = scratch.shared();
        T* const terms = shared.template take<T>(operands_.batches() * keys * heads * key_terms);
        T* const own_terms = shared.template take<T>(operands_.batches() * operands_.queries() * heads * row_terms);
        prepare_terms<kernel::side::key>(executor, scratch, recipe_.score.parts.keys, terms);
        prepare_terms<kernel::side::query>(executor, scratch, recipe_.score.parts.rows, own_terms);
        index_t const share = Operands::adds_up ? std::max<index_t>(operands_.queries(), 1) : usual_share;
        index_t const row_chunks = (operands_.queries() + share - 1) / share;
        executor.run(operands_.batches() * row_chunks, [&](index_t task, index_t worker) {
            auto& memory = scratch.worker(worker);
            memory.clear();
            index_t const first = task % row_chunks * share, last = std::min(first + share, operands_.queries());
            index_t longest = 1;
            for (index_t q = first; q < last; ++q)
                longest = std::max(longest, static_cast<index_t>(graph_.of(q).size()));
            row_room room;
            room.stride = round_up(longest, width);
            room.scores = memory.template take<T>(heads * planes * room.stride);
            room.raw = memory.template take<T>(heads * room.stride);
            room.key_values = memory.template take<T>(heads * key_terms * room.stride);
            room.keys = memory.template take<std::int32_t>(room.stride);
            room.sums = memory.template take<T>(heads * round_up(operands_.value_features(), width));
            room.states = memory.template take<state>(heads);
            room.factors = memory.template take<T>(heads);
            room.all_terms = terms;
            room.row_terms = own_terms;
            for (index_t q = first; q < last; ++q) query(room, task / row_chunks, q);
        });
    }

private:
    /// Scratch for one query and all its heads, and the key terms of all keys.
    struct row_room {
        T* scores;           // (heads, planes, stride)
        T* raw;              // (heads, stride) scores before they became weights
        T* key_values;       // (heads, terms, stride) key terms of the listed keys
        std::int32_t* keys;  // (stride) the listed keys, the last one repeated
        T* sums;             // (heads, value features rounded up)
        state* states;       // (heads)
        T* factors;          // (heads)
        T const* all_terms;  // (batch, key, head, term)
        T const* row_terms;  // (batch, query, head, term)
        index_t stride;
    };

    T const* terms_of(T const* terms, index_t batch, index_t head, index_t key) const {
        return terms + ((batch * operands_.keys() + key) * operands_.query.extent(1) + head) * key_terms;
    }

    kernel::row_facts facts(index_t batch, index_t head, index_t q) const {
        return {batch, head, q, operands_.queries(), operands_.keys(), operands_.features(),
                graph_.offsets.empty() ? 0 : graph_.offsets[static_cast<std::size_t>(q)]};
    }

    decltype(auto) normalizer(kernel::row_facts const& row) const {
        return normalizer_of_row(recipe_.normalize, facts_of_row<T, Arch>{row});
    }

    /// Asks for the memory that an edge will need: terms and values of its key, features where they are compared.
    /// Always inlined: GCC takes a function that only prefetches for one without effect.
    FOVEA_INLINE void fetch(index_t batch, std::int32_t key, T const* terms) const {
        auto const lines = [](auto const* row, index_t n) FOVEA_LAMBDA {
            constexpr index_t line = 64 / static_cast<index_t>(sizeof(*row));
            for (index_t c = 0; c < n; c += line) __builtin_prefetch(row + c);
            __builtin_prefetch(row + std::max<index_t>(n, 1) - 1);  // rows need not begin with a line
        };
        if constexpr (key_terms > 0) lines(terms_of(terms, batch, 0, key), operands_.query.extent(1) * key_terms);
        for (index_t h = 0; h < operands_.key_heads(); ++h) {
            lines(operands_.value.place(batch, h, key, 0), operands_.value_features());
            if constexpr (compares) lines(operands_.key.place(batch, h, key, 0), operands_.key_features());
        }
    }

    /// The terms of one side for all positions and heads, some positions at a time: (batch, position, head, term).
    template <kernel::side Side, class Executor, class Terms>
    void prepare_terms(Executor const& executor, workspace& scratch, Terms const& terms, T* to) const {
        if constexpr (plan::count_of<Terms> > 0) {
            constexpr bool of_key = Side == kernel::side::key;
            auto const& operand = [&]() -> auto const& {
                if constexpr (of_key) return operands_.key;
                else return operands_.query;
            }();
            index_t const n = operand.extent(2), features = operand.extent(3), heads = operands_.query.extent(1);
            constexpr index_t share = usual_share;
            index_t const tasks = (n + share - 1) / share, step = heads * plan::count_of<Terms>;
            executor.run(operands_.batches() * tasks, [&](index_t task, index_t worker) {
                auto& memory = scratch.worker(worker);
                memory.clear();
                T* const transposed = memory.template take<T>(features * width);
                index_t const batch = task / tasks, first = task % tasks * share, last = std::min(first + share, n);
                for (index_t h = 0; h < heads; ++h) {
                    auto const row = facts(batch, h, 0);
                    index_t const head = of_key ? h / operands_.group() : h;
                    for (index_t i = first; i < last; i += width) {
                        kernel::transpose_rows<T, Arch>(operand.place(batch, head, i, 0), operand.stride(2),
                                                        std::min(width, last - i), features, transposed);
                        kernel::side_environment<Side, T, Arch> const here{row, {i}, transposed, features};
                        index_t term = h * plan::count_of<Terms>;
                        plan::for_each_part(terms, [&](auto const& t) {
                            auto const value = lanes::stored(kernel::as_pack<T, Arch>(evaluate(t.expression, here)));
                            for (index_t l = 0; l < std::min(width, last - i); ++l)
                                to[(batch * n + i + l) * step + term] = value[static_cast<std::size_t>(l)];
                            ++term;
                        });
                    }
                }
            });
        }
    }

    /// One query: all its heads, a chunk of edges at a time, so that a key's rows are read while they are near.
    void query(row_room const& room, index_t batch, index_t q) const {
        index_t const heads = operands_.query.extent(1), begin = graph_.offsets[static_cast<std::size_t>(q)];
        auto const listed = graph_.of(q);
        index_t const n = static_cast<index_t>(listed.size()), padded = round_up(n, width);
        std::copy(listed.begin(), listed.end(), room.keys);
        std::fill(room.keys + n, room.keys + padded, n > 0 ? listed.back() : 0);

        index_t const sum_width = round_up(operands_.value_features(), width);
        std::fill_n(room.sums, heads * sum_width, start_of<aggregator_type, T>);
        for (index_t e = 0; e < padded; e += chunk) {
            for (index_t i = begin + e + ahead; i < std::min(begin + std::min(e + chunk, n) + ahead, graph_.edges()); ++i)
                fetch(batch, graph_.keys[static_cast<std::size_t>(i)], room.all_terms);
            take_terms(room, batch, e, std::min(e + chunk, padded));
            for (index_t h = 0; h < heads; ++h) score(room, facts(batch, h, q), e, std::min(e + chunk, padded), n);
        }
        for (index_t h = 0; h < heads; ++h) normalize(room, facts(batch, h, q), padded);
        if constexpr (!selects)
            for (index_t e = 0; e < n; e += chunk)
                for (index_t h = 0; h < heads; ++h)
                    accumulate(room, batch, h, e, std::min(e + chunk, n), room.sums + h * sum_width);
        for (index_t h = 0; h < heads; ++h) finish(room, facts(batch, h, q), room.sums + h * sum_width);
    }

    /// The key terms of some edges, side by side for each head.
    void take_terms(row_room const& room, index_t batch, index_t first, index_t last) const {
        index_t const count = operands_.query.extent(1) * key_terms;
        for (index_t e = first; e < last && count > 0; ++e) {
            T const* const from = terms_of(room.all_terms, batch, 0, room.keys[e]);
            for (index_t t = 0; t < count; ++t) room.key_values[t * room.stride + e] = from[t];
        }
    }

    void score(row_room const& room, kernel::row_facts const& row, index_t first, index_t last, index_t n) const {
        index_t const key_head = row.head / operands_.group();
        auto const* features = operands_.query.place(row.batch, row.head, row.q_idx, 0);
        using query_element = std::remove_cvref_t<decltype(*features)>;
        kernel::single_environment<T, Arch, query_element, query_element> const single{
            {row, index_t{0}}, features, features, row.dim, row.dim};
        T const* const terms =
            room.row_terms + ((row.batch * operands_.queries() + row.q_idx) * operands_.query.extent(1) + row.head) * row_terms;
        T* const scores = room.scores + row.head * planes * room.stride;
        T* plane = scores;
        auto const for_edges = [&](auto const& body, T scale) {
            for (index_t e = first; e < std::min(last, n); ++e) {
                auto const* key = operands_.key.place(row.batch, key_head, room.keys[e], 0);
                kernel::index_environment<T, Arch, index_t> const base{row, room.keys[e], e};
                plane[e] = scale * kernel::sum_features<T, Arch>(body, base, features, key, row.dim);
            }
            for (index_t e = std::max(first, n); e < last; ++e) plane[e] = T{0};
            plane += room.stride;
        };
        plan::for_each_part(recipe_.score.parts.products, [&](auto const& p) {
            for_edges(p.of_query * p.of_key, static_cast<T>(evaluate(p.scale, single)));
        });
        plan::for_each_part(recipe_.score.parts.pairs, [&](auto const& p) { for_edges(p.body, T{1}); });
        for (index_t e = first; e < last; e += width) transform(room, row, terms, scores, e, n);
    }

    /// The pointwise rest and the mask on one vector of edges.
    void transform(row_room const& room, kernel::row_facts const& row, T const* terms, T* scores, index_t e, index_t n) const {
        using keys = kernel::index_pack<T, Arch>;
        auto const listed = kernel::lane_keys<T, Arch>(kernel::listed_keys{room.keys}, e);
        T const* const key_values = room.key_values + row.head * key_terms * room.stride + e;
        kernel::tile_environment<T, Arch, keys> const here{
            {row, listed, e}, scores + e, room.stride, products, terms, key_values, room.stride};
        auto score = kernel::as_pack<T, Arch>(evaluate(recipe_.score.pointwise, here));
        if (!always_visible || e + width > n) {
            auto const visible = (vector::iota() < vector(n - e)) && evaluate(recipe_.predicate, here);
            score = select(visible, score, vector(excluded<T>));
        }
        score.store(scores + e);
    }

    void normalize(row_room const& room, kernel::row_facts const& row, index_t padded) const {
        T* const scores = room.scores + row.head * planes * room.stride;
        std::copy_n(scores, padded, room.raw + row.head * room.stride);
        state& s = *std::construct_at(room.states + row.head);
        kernel::packed_row<T, Arch, typename normalizing::of_row, kernel::listed_keys> const weights{
            scores, padded / width, {room.keys}};
        T& factor = *std::construct_at(room.factors + row.head, T{1});
        auto const& here = normalizer(row);
        if constexpr (whole_rows) {
            show_scores(operands_.outputs, row, weights);
            normalizing::whole(here, s, weights);
            if constexpr (Recipe::reweights) {
                kernel::reweigh<!Recipe::reweights_rows>(recipe_.reweight, row, weights);
                for (index_t e = 0; e < padded; ++e)
                    if (room.raw[row.head * room.stride + e] == excluded<T>) weights[e] = T{0};
            }
            show_weights(operands_.outputs, row, weights);
        } else {
            normalizing::fold(here, s, weights);
            if constexpr (Recipe::reweights) kernel::reweigh<!Recipe::reweights_rows>(recipe_.reweight, row, weights);
            factor = normalizing::finish(here, s);
        }
    }

    void accumulate(row_room const& room, index_t batch, index_t head, index_t first, index_t last, T* sums) const {
        index_t const features = operands_.value_features(), key_head = head / operands_.group();
        T const* const weights = room.scores + head * planes * room.stride;
        T const* const raw = room.raw + head * room.stride;
        for (index_t c = 0; c < features; c += width) {
            auto sum = vector::load(sums + c);
            for (index_t e = first; e < last; ++e) {
                if (raw[e] == excluded<T>) continue;
                auto const* value = operands_.value.place(batch, key_head, room.keys[e], 0);
                sum = kernel::aggregate_step(recipe_.aggregate, sum, vector(weights[e]),
                                             kernel::load_as<T, Arch>(value + c, features - c));
            }
            sum.store(sums + c);
        }
    }

    void finish(row_room const& room, kernel::row_facts const& row, T const* sums) const {
        using out = std::remove_cvref_t<decltype(operands_.result(0, 0, 0, 0))>;
        out* const to = operands_.result.place(row.batch, row.head, row.q_idx, 0);
        auto const& s = room.states[row.head];
        index_t const features = operands_.value_features();
        if constexpr (selects) {
            index_t const key = normalizer(row).selected(s);
            for (index_t c = 0; c < features; ++c)
                to[c] = key < 0 ? out{0} : static_cast<out>(operands_.value(row.batch, row.head / operands_.group(), key, c));
        } else {
            for (index_t c = 0; c < features; ++c) to[c] = static_cast<out>(aggregated<aggregator_type>(sums[c], room.factors[row.head]));
        }
        show_log_sum(operands_.outputs, row, normalizing::log_sum(normalizer(row), s));
    }

    Recipe const& recipe_;
    Operands const& operands_;
    graph_view graph_;
};

}  // namespace fovea::driver
