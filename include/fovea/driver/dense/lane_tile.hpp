// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/dense/lane_keys.hpp>
#include <fovea/driver/dense/lane_parts.hpp>
#include <fovea/driver/dense/row_scales.hpp>
#include <fovea/driver/products.hpp>
#include <fovea/kernel/lane_rows.hpp>
#include <fovea/kernel/transform_lanes.hpp>
#include <fovea/plan/normalizing.hpp>

#include <algorithm>
#include <tuple>

namespace fovea::FOVEA_SET::driver {

/// A tile of dense_loop with a query in each lane: neighbouring queries of one head, or of heads that share keys and
/// take turns.
///
/// Nothing is summed across lanes, and keys and values are not packed: the queries are transposed once, the results
/// once more.
template <class Call>
class lane_tile {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using recipe = typename Call::recipe;
    using vector = kernel::pack<T, Arch>;
    using normalizing = plan::normalizing<std::remove_const_t<decltype(recipe::normalize)>, vector>;
    using pointwise = std::remove_const_t<decltype(decltype(recipe::score)::pointwise)>;
    using predicate = std::remove_const_t<decltype(recipe::predicate)>;
    using context = dense_context<Call>;
    using whole = kernel::integer_like<T>;
    static constexpr index_t index_terms = plan::count_of<decltype(context::indices_type::queries)>;
    static constexpr index_t row_terms = plan::count_of<decltype(decltype(recipe::score.parts)::rows)>;

public:
    using call = Call;
    using shape = plan::lane_tile<T, Arch>;
    using keys = lane_keys<Call>;
    using part = key_part<shape>;
    static constexpr bool whole_panels = false;

    /// Scores, and then weights, of one tile and a block of keys.
    struct room {
        T* scores;      // (block_keys, width)
        bool* visible;  // (block_keys, width) which pairs take part, where values are not finite
        lane_parts<shape> seen;
        alignas(64) T rescale[shape::rows], row_max[shape::rows];

        room(arena& memory, index_t)
            : scores(memory.template take<T>(shape::block_keys * shape::rows)),
              visible(memory.template take<bool>(shape::block_keys * shape::rows)) {}
    };

    /// Sums are kept in the tile alone.
    struct place {
        static constexpr bool empty() { return true; }
        place tile(index_t, keys const&) const { return {}; }
    };

    lane_tile(arena& memory, context const& all, place)
        : queries_(memory.template take<T>(std::max<index_t>(all.operands.features(), 1) * shape::rows + shape::lanes)),
          terms_(memory.template take<T>(row_terms * shape::rows)),
          indices_(memory.template take<whole>(index_terms * shape::rows)),
          sums_(memory.template take<T>(all.operands.value_features() * shape::rows)) {}

    /// Begins with so many rows from `first` on.
    void begin(context const& all, head_group head, index_t first, index_t count, keys const&) {
        auto const& operands = all.operands;
        group_ = all.group;
        head_ = head;
        first_row_ = first;
        count_ = count;
        vectors_ = (count + shape::lanes - 1) / shape::lanes;
        empty_ = true;
        std::fill_n(states_, vectors_, typename normalizing::state{});
        facts_ = {head.batch,          head.head * group_, 0, operands.queries(), operands.keys(),
                  operands.features(), operands.exact};
        for (index_t r = 0; r < width() && group_ > 1; ++r) {
            auto const row = facts_of(std::min(r, count - 1));
            queries_of_[r] = static_cast<whole>(row.q_idx);
            heads_of_[r] = static_cast<whole>(row.head);
        }
        transpose_queries(all);
        index_t term = 0;
        plan::for_each_part(all.recipe.score.parts.rows, [&](auto const& t) {
            T* const to = terms_ + term++ * width();
            for (index_t r = 0; r < width(); ++r) to[r] = of_row(operands, t.expression, std::min(r, count - 1));
        });
        term = 0;
        plan::for_each_part(all.indices.queries, [&](auto const& t) {
            whole* const to = indices_ + term++ * width();
            for (index_t r = 0; r < width(); ++r)
                to[r] = static_cast<whole>(
                    evaluate(t, kernel::index_environment<T, Arch, index_t>{facts_of(std::min(r, count - 1)), 0}));
        });
    }

    /// What all rows span, for interval readings; all keys.
    box span(context const& all) const { return all.span(head_, first_row_, first_row_ + count_); }

    /// S: products with keys, what is computed of them, and the mask where it hides a pair. Where the tile is trimmed,
    /// vectors of queries that see nothing at the ends of the run are left out.
    template <class Visible>
    void score(context const& all, Visible const& visible, keys& from, part const& at, room& to, bool trims) const {
        if (Call::masks && trims && vectors_ > 1)
            to.seen.cut(vectors_, visible, from, at, [&](index_t v) {
                index_t const first = first_row_ + v * shape::lanes;
                return all.span(head_, first, std::min(first + shape::lanes, first_row_ + count_));
            });
        else to.seen.take_whole(vectors_, at.run);
        bool const computes = !Call::is_bare_product || any_mixed(at.run, at.mixed);
        std::fill_n(to.row_max, width(), excluded<T>);
        for (auto const& [lanes, packs] : to.seen)
            multiply(lanes, run_of(from, at, packs, to), computes ? nullptr : to.row_max, from);
        if (!computes) return;
        for_spans(at.run, at.mixed, [&](index_t first, index_t packs, bool masked) {
            auto const run = run_of(from, at, {first, first + packs}, to);
            if (Call::masks && masked) transform<Call::masks>(all, run, to.row_max);
            else transform<false>(all, run, to.row_max);
        });
    }

    bool any_excluded(keys const& from, part const& at, room const& of) const {
        auto const run = run_of(from, at, at.run, of);
        return kernel::any_excluded<T, Arch>(run.scores, run.count * vectors_);
    }

    /// Which pairs take part, where values are not finite.
    void mark_visible(keys const& from, part const& at, room const& of) const {
        auto const run = run_of(from, at, at.run, of);
        bool* const visible = of.visible + (run.scores - of.scores);
        for (index_t i = 0; i < run.count * width(); ++i) visible[i] = run.scores[i] != excluded<T>;
    }

    /// m, l, P: scores become weights.
    void fold(context const& all, keys const& from, part const& at, room& of) {
        using rows = kernel::lane_rows<T, Arch, typename normalizing::of_row>;
        auto const run = run_of(from, at, at.run, of);
        for (index_t v = 0; v < vectors_; ++v) {
            index_t const lane = v * shape::lanes;
            normalizing::fold(all.recipe.normalize, states_[v],
                              rows{run.scores + lane, run.count, width(), shape::lanes, of.row_max + lane})
                .store(of.rescale + lane);
        }
    }

    /// O = O * rescale + P V
    void add(context const& all, keys& from, part const& at, room& of) {
        for (auto const& [lanes, packs] : of.seen) {
            bool const first_of_all = empty_ && lanes.last - lanes.first == vectors_;
            if (first_of_all) empty_ = false;
            else clear_if_empty(all.operands);
            auto const run = run_of(from, at, packs, of);
            index_t const lane = lanes.first * shape::lanes;
            products<T, Arch>::add(
                {from.value(run.first), {}, all.operands.value.stride(2)},
                {lanes.last - lanes.first, all.operands.value_features(), run.count, run.scores + lane, sums_ + lane,
                 width(), first_of_all ? nullptr : of.rescale + lane, nullptr},
                from.prefetch_values);
            if (of.seen.size() > 1)  // what follows adds to the same sums
                std::fill(of.rescale + lane, of.rescale + lanes.last * shape::lanes, T{1});
        }
    }

    /// The same where a value is not finite: it must not be multiplied by the weight 0 of a pair that takes no part.
    void add_visible(context const& all, keys const& from, part const& at, room const& of) {
        auto const run = run_of(from, at, at.run, of);
        bool const* const visible = of.visible + (run.scores - of.scores);
        clear_if_empty(all.operands);
        for (index_t c = 0; c < all.operands.value_features(); ++c)
            for (index_t q = 0; q < width(); ++q) {
                T& sum = sums_[c * width() + q];
                sum *= of.rescale[q];
                for (index_t k = 0; k < run.count; ++k)
                    if (visible[k * width() + q]) sum += run.scores[k * width() + q] * from.value(run.first + k)[c];
            }
    }

    /// O / l
    void finish(context const& all) {
        clear_if_empty(all.operands);
        for (index_t v = 0; v < vectors_; ++v) {
            index_t const lane = v * shape::lanes;
            auto const& state = states_[v];
            write(all.operands, lane, normalizing::finish(all.recipe.normalize, state));
            if constexpr (requires { all.recipe.normalize.log_sum(state); }
                          && std::tuple_size_v<decltype(all.operands.outputs)> > 0) {
                auto const sums = kernel::lanes_of<T, Arch>::stored(normalizing::log_sum(all.recipe.normalize, state));
                for (index_t r = lane; r < std::min(count_, lane + shape::lanes); ++r)
                    show_log_sum(all.operands.outputs, facts_of(r), sums[static_cast<std::size_t>(r - lane)]);
            }
        }
    }

private:
    /// Neighbouring keys, and what the rows and these come to: scores, and then weights.
    struct key_run {
        index_t first, count;
        T* scores;                   // (keys, width)
        T const* key_terms;          // (terms, block_keys)
        index_t const* key_indices;  // (index terms, block_keys)
    };
    key_run run_of(keys const& from, part const& at, pack_run<shape> packs, room const& of) const {
        index_t const first = packs.first * shape::pack, block = from.first(at.block);
        index_t const last = std::min(packs.last * shape::pack, from.last(at.block) - block);
        return {block + first, last - first, of.scores + first * width(), from.terms(at.block) + first,
                from.indices(at.block) + first};
    }

    index_t width() const { return vectors_ * shape::lanes; }

    template <class Operands, class Expression>
    T of_row(Operands const& operands, Expression const& expression, index_t r) const {
        auto const facts = facts_of(r);
        auto const* const row = strided(operands.query)(r);
        return static_cast<T>(evaluate(
            expression, kernel::single_environment<T, Arch, T, T>{{facts, 0}, row, row, facts.dim, facts.dim}));
    }

    void transpose_queries(context const& all) {
        auto const row = strided(all.operands.query);
        index_t const present = all.rows - first_row_;
        plan::for_each_part(all.recipe.score.parts.products, [&](auto const& p) {
            using product = std::remove_cvref_t<decltype(p)>;
            T scales[shape::rows];
            scales_of_rows<decltype(product::scale)>(count_, scales,
                                                     [&](index_t r) { return of_row(all.operands, p.scale, r); });
            if constexpr (std::is_same_v<decltype(product::of_query), q_t>) {
                products<T, Arch>::transpose({row, scales, count_, width(), present, facts_.dim, queries_, width()});
            } else {
                kernel::row_facts facts[shape::rows];
                for (index_t r = 0; r < count_; ++r) facts[r] = facts_of(r);
                kernel::transpose_features<T, Arch>(
                    p.of_query, row,
                    [&](index_t r) FOVEA_LAMBDA { return kernel::index_environment<T, Arch, index_t>{facts[r], 0}; },
                    [&](index_t r) FOVEA_LAMBDA { return scales[r]; }, count_, width(), present, facts_.dim, queries_,
                    width());
            }
            for (index_t r = 0; r < (facts_.dim == 0 ? width() : 0); ++r)
                queries_[r] = T{0} * scales[std::min(r, count_ - 1)];
        });
    }

    /// Products of some vectors of rows with keys; the maximum of each row, if `row_max` is given.
    void multiply(lane_run lanes, key_run const& run, T* row_max, keys& from) const {
        index_t const lane = lanes.first * shape::lanes;
        if (facts_.dim == 0) return multiply_nothing(lanes, run, row_max);
        products<T, Arch>::compare({from.key(run.first), from.key_stride(), {}},
                                   {lanes.last - lanes.first, run.count, facts_.dim, queries_ + lane, run.scores + lane,
                                    width(), nullptr, row_max ? row_max + lane : nullptr},
                                   from.prefetch_keys);
    }

    /// A sum over no features is 0, and its scale may be infinite: what the expression says. That stands for the
    /// queries.
    void multiply_nothing(lane_run lanes, key_run const& run, T* row_max) const {
        for (index_t lane = lanes.first * shape::lanes; lane < lanes.last * shape::lanes; ++lane) {
            for (index_t k = 0; k < run.count; ++k) run.scores[k * width() + lane] = queries_[lane];
            if (row_max && queries_[lane] > row_max[lane]) row_max[lane] = queries_[lane];
        }
    }

    /// The rest of the score, and the mask where not all pairs are visible; the maximum of each row.
    template <bool Masked>
    void transform(context const& all, key_run const& run, T* row_max) const {
        for (index_t lane = 0; lane < width(); lane += shape::lanes) {
            auto const transform = [&](auto const& rows) {
                kernel::transform_lanes<Masked, T, Arch>(
                    all.recipe.score.pointwise, all.recipe.predicate, all.indices, facts_of(lane), rows,
                    kernel::lane_scores<T>{run.scores + lane, width(), run.first, run.count, terms_ + lane,
                                           run.key_terms, shape::block_keys, indices_ + lane, run.key_indices,
                                           row_max + lane});
            };
            if constexpr (uses<pointwise, q_idx_t, head_t> || uses<predicate, q_idx_t, head_t>)
                if (group_ > 1) {
                    transform(kernel::queries_of_heads<T, Arch>{queries_of_ + lane, heads_of_ + lane});
                    continue;
                }
            transform(kernel::neighbouring_queries<T, Arch>{});
        }
    }

    kernel::row_facts facts_of(index_t r) const {
        auto facts = facts_;
        facts.q_idx = r += first_row_;
        if (group_ == 1) return facts;  // without a division
        facts.q_idx = r / group_;
        facts.head += r - facts.q_idx * group_;
        return facts;
    }

    /// The rows of a view, the first of this tile being row 0.
    template <class Rows>
    auto strided(Rows const& rows) const {
        using element = std::remove_pointer_t<decltype(rows.data)>;
        return strided_rows<element>{rows.place(facts_.batch, facts_.head, 0, 0), rows.stride(2), rows.stride(1),
                                     group_, first_row_};
    }

    /// The results of one vector of queries, which are rows again.
    template <class Operands>
    void write(Operands const& operands, index_t lane, vector const& factor) const {
        using element = std::remove_pointer_t<decltype(operands.result.data)>;
        alignas(64) T factors[shape::lanes];
        factor.store(factors);
        auto to = strided(operands.result);
        to.offset += lane;
        result_rows<T, element> const rows{sums_ + lane,
                                           width(),
                                           factors,
                                           std::min<index_t>(count_ - lane, shape::lanes),
                                           operands.value_features(),
                                           to};
        if constexpr (std::is_same_v<element, T>) products<T, Arch>::store(rows);
        else store_transposed<Arch>(rows);
    }

    template <class Operands>
    void clear_if_empty(Operands const& operands) {
        if (empty_) std::fill_n(sums_, operands.value_features() * width(), T{0});
        empty_ = false;
    }

    T* queries_;               // (features, width)
    T* terms_;                 // (row terms, width)
    whole* indices_;           // (index terms, width)
    T* sums_;                  // (value features, width)
    kernel::row_facts facts_;  // of the first query of the first head
    whole queries_of_[shape::rows], heads_of_[shape::rows];
    head_group head_{};
    index_t group_ = 1, first_row_ = 0, count_ = 0, vectors_ = 0;
    bool empty_ = true;                              // nothing has been added to the sums, nor have they been cleared
    typename normalizing::state states_[shape::nv];  // of each vector
};

}  // namespace fovea::FOVEA_SET::driver
