// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/arena.hpp>
#include <fovea/driver/operands.hpp>
#include <fovea/driver/pack_run.hpp>
#include <fovea/driver/products.hpp>
#include <fovea/driver/row_scales.hpp>
#include <fovea/expr/bound.hpp>
#include <fovea/kernel/lane_products.hpp>
#include <fovea/kernel/lane_rows.hpp>
#include <fovea/kernel/prepare.hpp>
#include <fovea/kernel/transform_lanes.hpp>
#include <fovea/plan/normalizing.hpp>
#include <fovea/plan/tile.hpp>

#include <algorithm>
#include <tuple>

namespace fovea::FOVEA_SET::driver {

/// Up to `tile::rows` neighbouring queries, one in each lane, and all that is carried for them. They are of one head,
/// or of some that share keys and take turns.
///
/// Nothing is summed across lanes, and keys and values are not packed: the queries are transposed once, the results
/// once more.
template <class T, class Arch, class Recipe, class Operands>
class lane_tile {
    using vector = kernel::pack<T, Arch>;
    using normalizing = plan::normalizing<std::remove_const_t<decltype(Recipe::normalize)>, vector>;
    using parts = std::remove_cvref_t<decltype(Recipe::score.parts)>;
    static constexpr index_t row_terms = plan::count_of<decltype(parts::rows)>;

public:
    using tile = plan::lane_tile<T, Arch>;
    static constexpr bool whole_panels = false;

    lane_tile(arena& memory, Operands const& operands)
        : queries_(memory.template take<T>(std::max<index_t>(operands.features(), 1) * tile::rows + tile::lanes)),
          terms_(memory.template take<T>(row_terms * tile::rows)),
          sums_(memory.template take<T>(operands.value_features() * tile::rows)) {}

    /// Begins with rows from `first` on of `group` heads.
    void begin(Recipe const& recipe, Operands const& operands, index_t group, row_place first, index_t count) {
        key_head_ = first.head * group / operands.group();
        group_ = group;
        one_head_ = group == 1;
        first_row_ = first.query;
        count_ = count;
        vectors_ = (count + tile::lanes - 1) / tile::lanes;
        empty_ = true;
        std::fill_n(states_, vectors_, typename normalizing::state{});
        facts_ = {first.batch,         first.head * group, 0, operands.queries(), operands.keys(),
                  operands.features(), operands.exact};
        for (index_t r = 0; r < width() && group > 1; ++r) {
            auto const row = facts_of(std::min(r, count - 1));
            queries_of_[r] = static_cast<whole>(row.q_idx);
            heads_of_[r] = static_cast<whole>(row.head);
        }
        auto const row = [&](index_t r) FOVEA_LAMBDA { return row_of(operands.query, r); };
        auto const of_row = [&](auto const& expression, index_t r) {
            auto const facts = facts_of(r);
            kernel::single_environment<T, Arch, T, T> const here{{facts, 0}, row(r), row(r), facts.dim, facts.dim};
            return static_cast<T>(evaluate(expression, here));
        };
        plan::for_each_part(recipe.score.parts.products, [&](auto const& p) {
            using product = std::remove_cvref_t<decltype(p)>;
            constexpr bool as_stored = std::is_same_v<decltype(product::of_query), q_t>;
            T scales[tile::rows];
            scales_of_rows<decltype(product::scale)>(count, scales, [&](index_t r) { return of_row(p.scale, r); });
            index_t const present = operands.queries() * group - first.query;
            if constexpr (as_stored) {
                products<T, Arch>::transpose(
                    {strided(operands.query), scales, count, width(), present, facts_.dim, queries_, width()});
            } else {
                kernel::row_facts facts[tile::rows];
                for (index_t r = 0; r < count; ++r) facts[r] = facts_of(r);
                kernel::transpose_features<T, Arch>(
                    p.of_query, row,
                    [&](index_t r) FOVEA_LAMBDA { return kernel::index_environment<T, Arch, index_t>{facts[r], 0}; },
                    [&](index_t r) FOVEA_LAMBDA { return scales[r]; }, count, width(), present, facts_.dim, queries_,
                    width());
            }
            for (index_t r = 0; r < (facts_.dim == 0 ? width() : 0); ++r)
                queries_[r] = T{0} * scales[std::min(r, count - 1)];
        });
        index_t term = 0;
        plan::for_each_part(recipe.score.parts.rows, [&](auto const& t) {
            T* const to = terms_ + term++ * width();
            for (index_t r = 0; r < width(); ++r) to[r] = of_row(t.expression, std::min(r, count - 1));
        });
    }

    /// What the rows of some vectors span, for interval readings; all keys.
    box span(lane_run lanes) const {
        index_t const first = lanes.first * tile::lanes, last = std::min(lanes.last * tile::lanes, count_) - 1;
        auto const from = facts_of(first), to = facts_of(last);
        interval<index_t> const heads = from.q_idx == to.q_idx
                                          ? interval<index_t>{from.head, to.head}
                                          : interval<index_t>{facts_.head, facts_.head + group_ - 1};
        return {from.batch, heads, {from.q_idx, to.q_idx}, {0, from.kv_len - 1}, from.q_len, from.kv_len, from.dim};
    }
    box span(Operands const&) const { return span({0, vectors_}); }

    kernel::row_facts const& facts() const { return facts_; }
    index_t vectors() const { return vectors_; }
    index_t width() const { return vectors_ * tile::lanes; }

    /// Products of some vectors of rows with keys; the greatest of each row, if `greatest` is given.
    void compare(Operands const& operands, lane_run lanes, key_run<T> const& run, T* greatest,
                 kernel::prefetch_queue& next) const {
        if (facts_.dim == 0) return compare_nothing(lanes, run, greatest);
        T const* const keys = operands.key.place(facts_.batch, key_head_, run.first, 0);
        index_t const stride = operands.key.stride(2), lane = lanes.first * tile::lanes;
        products<T, Arch>::compare({keys, stride, {}},
                                   {lanes.last - lanes.first, run.count, facts_.dim, queries_ + lane, run.scores + lane,
                                    width(), nullptr, greatest ? greatest + lane : nullptr},
                                   next);
    }

    /// The rest of the score, and the mask where not all pairs are visible; the greatest of each row.
    template <bool Masked>
    void transform(Recipe const& recipe, key_run<T> const& run, T* greatest) const {
        using pointwise = std::remove_cvref_t<decltype(recipe.score.pointwise)>;
        using predicate = std::remove_cvref_t<decltype(recipe.predicate)>;
        for (index_t lane = 0; lane < width(); lane += tile::lanes) {
            auto const transform = [&](auto const& rows) {
                kernel::transform_lanes<Masked, T, Arch>(
                    recipe.score.pointwise, recipe.predicate, facts_of(lane), rows,
                    kernel::lane_scores<T>{run.scores + lane, width(), run.first, run.count, terms_ + lane,
                                           run.key_terms, tile::block_keys, greatest + lane});
            };
            if constexpr (uses<pointwise, q_idx_t, head_t> || uses<predicate, q_idx_t, head_t>)
                if (group_ > 1) {
                    transform(kernel::queries_of_heads<T, Arch>{queries_of_ + lane, heads_of_ + lane});
                    continue;
                }
            transform(kernel::neighbouring_queries<T, Arch>{});
        }
    }

    /// Scores become weights; `rescale` what was summed before them is worth: (width).
    void fold(Recipe const& recipe, key_run<T> const& run, T const* greatest, T* rescale) {
        using rows = kernel::lane_rows<T, Arch, typename normalizing::of_row>;
        for (index_t v = 0; v < vectors_; ++v) {
            index_t const lane = v * tile::lanes;
            normalizing::fold(recipe.normalize, states_[v],
                              rows{run.scores + lane, run.count, width(), tile::lanes, greatest + lane})
                .store(rescale + lane);
        }
    }

    /// Adds the values of keys to the sums of some vectors.
    void add(Operands const& operands, lane_run lanes, key_run<T> const& run, T const* rescale,
             kernel::prefetch_queue& next) {
        bool const first_of_all = empty_ && lanes.last - lanes.first == vectors_;
        if (first_of_all) empty_ = false;
        else clear_if_empty(operands);
        T const* const values = operands.value.place(facts_.batch, key_head_, run.first, 0);
        index_t const stride = operands.value.stride(2), lane = lanes.first * tile::lanes;
        products<T, Arch>::add({values, {}, stride},
                               {lanes.last - lanes.first, operands.value_features(), run.count, run.scores + lane,
                                sums_ + lane, width(), first_of_all ? nullptr : rescale + lane, nullptr},
                               next);
    }

    /// The same where a value is not finite: it must not be multiplied by the weight 0 of a pair that takes no part.
    void add_visible(Operands const& operands, key_run<T> const& run, bool const* visible, T const* rescale) {
        clear_if_empty(operands);
        for (index_t c = 0; c < operands.value_features(); ++c)
            for (index_t q = 0; q < width(); ++q) {
                T& sum = sums_[c * width() + q];
                sum *= rescale[q];
                for (index_t k = 0; k < run.count; ++k)
                    if (visible[k * width() + q])
                        sum += run.scores[k * width() + q]
                             * *operands.value.place(facts_.batch, key_head_, run.first + k, c);
            }
    }

    void finish(Recipe const& recipe, Operands const& operands) {
        clear_if_empty(operands);
        for (index_t v = 0; v < vectors_; ++v) {
            index_t const lane = v * tile::lanes;
            auto const& state = states_[v];
            write(operands, lane, normalizing::finish(recipe.normalize, state));
            if constexpr (requires { recipe.normalize.log_sum(state); }
                          && std::tuple_size_v<decltype(operands.outputs)> > 0) {
                auto const sums = kernel::lanes_of<T, Arch>::stored(normalizing::log_sum(recipe.normalize, state));
                for (index_t r = lane; r < std::min(count_, lane + tile::lanes); ++r)
                    show_log_sum(operands.outputs, facts_of(r), sums[static_cast<std::size_t>(r - lane)]);
            }
        }
    }

private:
    using whole = kernel::integer_like<T>;

    /// A sum over no features is 0, and its scale may be infinite: what the expression says. That stands for the
    /// queries.
    void compare_nothing(lane_run lanes, key_run<T> const& run, T* greatest) const {
        for (index_t lane = lanes.first * tile::lanes; lane < lanes.last * tile::lanes; ++lane) {
            for (index_t k = 0; k < run.count; ++k) run.scores[k * width() + lane] = queries_[lane];
            if (greatest && queries_[lane] > greatest[lane]) greatest[lane] = queries_[lane];
        }
    }

    /// Where a row is; known without a division where all rows are of one head.
    row_place place_of_row(index_t r) const {
        r += first_row_;
        index_t const query = one_head_ ? r : r / group_;
        return {facts_.batch, facts_.head + (one_head_ ? 0 : r - query * group_), query};
    }
    template <class Rows>
    FOVEA_INLINE auto row_of(Rows const& rows, index_t r) const {
        auto const at = place_of_row(r);
        return rows.place(at.batch, at.head, at.query, 0);
    }
    kernel::row_facts facts_of(index_t r) const {
        auto facts = facts_;
        auto const at = place_of_row(r);
        facts.head = at.head;
        facts.q_idx = at.query;
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
    void write(Operands const& operands, index_t lane, vector const& factor) const {
        using element = std::remove_pointer_t<decltype(operands.result.data)>;
        alignas(64) T factors[tile::lanes];
        factor.store(factors);
        auto to = strided(operands.result);
        to.offset += lane;
        result_rows<T, element> const rows{sums_ + lane,
                                           width(),
                                           factors,
                                           std::min<index_t>(count_ - lane, tile::lanes),
                                           operands.value_features(),
                                           to};
        if constexpr (std::is_same_v<element, T>) products<T, Arch>::store(rows);
        else store_transposed<Arch>(rows);
    }

    void clear_if_empty(Operands const& operands) {
        if (empty_) std::fill_n(sums_, operands.value_features() * width(), T{0});
        empty_ = false;
    }

    T* queries_;               // (features, width)
    T* terms_;                 // (row terms, width)
    T* sums_;                  // (value features, width)
    kernel::row_facts facts_;  // of the first query of the first head
    whole queries_of_[tile::rows], heads_of_[tile::rows];
    index_t key_head_ = 0, group_ = 1, first_row_ = 0, count_ = 0;
    index_t vectors_ = 0;
    bool one_head_ = true;
    bool empty_ = true;  // nothing has been added to the sums, nor have they been cleared
    typename normalizing::state states_[tile::most_vectors];  // of each vector
};

}  // namespace fovea::FOVEA_SET::driver
