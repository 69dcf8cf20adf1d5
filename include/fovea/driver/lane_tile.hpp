// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/arena.hpp>
#include <fovea/driver/operands.hpp>
#include <fovea/expr/bound.hpp>
#include <fovea/kernel/lane_products.hpp>
#include <fovea/kernel/lane_rows.hpp>
#include <fovea/kernel/prepare.hpp>
#include <fovea/kernel/several.hpp>
#include <fovea/kernel/transform_lanes.hpp>
#include <fovea/plan/normalizing.hpp>
#include <fovea/plan/tile.hpp>

#include <algorithm>
#include <tuple>

namespace fovea::driver {

/// Neighbouring vectors of queries of a tile.
struct lane_run {
    index_t first, last;
};

/// Up to `tile::rows` neighbouring queries, one in each lane, and all that is carried for them. They are of one head,
/// or of some that share keys and take turns.
///
/// Nothing is summed across lanes, and keys and values are not packed: the queries are transposed once, the results
/// once more.
template <class T, class Arch, class Recipe, class Operands>
class lane_tile {
    using vector = kernel::pack<T, Arch>;
    /// What is computed with so many vectors of queries takes turns.
    template <int Vectors>
    using wide = arch::together<Arch, Vectors>;
    template <int Vectors>
    using normalizing =
        plan::normalizing<std::remove_const_t<decltype(Recipe::normalize)>, kernel::pack<T, wide<Vectors>>>;
    using parts = std::remove_cvref_t<decltype(Recipe::score.parts)>;
    static constexpr index_t row_terms = plan::count_of<decltype(parts::rows)>;

public:
    using tile = plan::lane_tile<T, Arch>;
    static constexpr bool whole_panels = false;

    lane_tile(arena& memory, Operands const& operands)
        : queries_(memory.template take<T>(operands.features() * tile::rows + tile::lanes)),
          terms_(memory.template take<T>(row_terms * tile::rows)),
          sums_(memory.template take<T>(operands.value_features() * tile::rows)) {}

    /// Begins with rows from `first` on of `group` heads.
    void begin(Recipe const& recipe, Operands const& operands, index_t group, row_place first, index_t count) {
        key_head_ = first.head * group / operands.group();
        group_ = group;
        first_row_ = first.query;
        count_ = count;
        vectors_ = (count + tile::lanes - 1) / tile::lanes;
        empty_ = true;
        states_ = {};
        facts_ = {first.batch, first.head * group, 0, operands.queries(), operands.keys(), operands.features()};
        for (index_t r = 0; r < width() && group > 1; ++r) {
            auto const row = facts_of(std::min(r, count - 1));
            queries_of_[r] = static_cast<whole>(row.q_idx);
            heads_of_[r] = static_cast<whole>(row.head);
        }
        auto const row = [&](index_t r) FOVEA_LAMBDA {
            auto const at = facts_of(r);
            return operands.query.place(at.batch, at.head, at.q_idx, 0);
        };
        auto const of_row = [&](auto const& expression, index_t r) {
            auto const facts = facts_of(r);
            kernel::single_environment<T, Arch, T, T> const here{{facts, 0}, row(r), row(r), facts.dim, facts.dim};
            return static_cast<T>(evaluate(expression, here));
        };
        plan::for_each_part(recipe.score.parts.products, [&](auto const& p) {
            using product = std::remove_cvref_t<decltype(p)>;
            constexpr bool one_scale = !uses<decltype(product::scale), head_t, q_idx_t, q_t>;
            constexpr bool as_stored = std::is_same_v<decltype(product::of_query), q_t>;
            T scales[one_scale ? 1 : tile::rows];
            for (index_t r = 0; r < (one_scale ? 1 : count); ++r) scales[r] = of_row(p.scale, r);
            kernel::row_facts facts[as_stored ? 1 : tile::rows];
            for (index_t r = 0; r < (as_stored ? 0 : count); ++r) facts[r] = facts_of(r);
            kernel::transpose_features<T, Arch>(
                p.of_query, row,
                [&](index_t r) FOVEA_LAMBDA { return kernel::index_environment<T, Arch, index_t>{facts[r], 0}; },
                [&](index_t r) FOVEA_LAMBDA { return scales[one_scale ? 0 : r]; }, count, width(),
                operands.queries() * group - first.query, facts_.dim, queries_, width());
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

    index_t vectors() const { return vectors_; }
    index_t width() const { return vectors_ * tile::lanes; }

    /// Products of some vectors of rows with `n` keys from one of them on: (keys, width).
    void compare(Operands const& operands, lane_run lanes, index_t key, index_t n, T* scores,
                 kernel::coming_lines& coming) const {
        T const* const keys = operands.key.place(facts_.batch, key_head_, key, 0);
        index_t const stride = operands.key.stride(2), lane = lanes.first * tile::lanes;
        kernel::meet_rows<tile, T, Arch>(
            lanes.last - lanes.first, n,
            [&](index_t k) FOVEA_LAMBDA { return kernel::key_numbers<T>{keys + k * stride, stride}; }, facts_.dim,
            queries_ + lane, scores + lane, width(), nullptr, coming);
    }

    /// The rest of the score, and the mask where not all pairs are visible.
    template <bool Masked>
    void transform(Recipe const& recipe, index_t key, index_t n, T* scores) const {
        using pointwise = std::remove_cvref_t<decltype(recipe.score.pointwise)>;
        using predicate = std::remove_cvref_t<decltype(recipe.predicate)>;
        if constexpr (!Masked && plan::is_bare_product<pointwise>) return;
        kernel::with_vectors<tile::most_vectors>(vectors_, [&](auto vectors) {
            auto const run = [&](auto const& rows) {
                kernel::transform_lanes<Masked, T, wide<vectors()>>(recipe.score.pointwise, recipe.predicate,
                                                                    facts_of(0), rows, scores, width(), key, n, terms_);
            };
            if constexpr (uses<pointwise, q_idx_t, head_t> || uses<predicate, q_idx_t, head_t>)
                if (group_ > 1) return run(kernel::queries_of_heads<T, wide<vectors()>>{queries_of_, heads_of_});
            run(kernel::neighbouring_queries<T, wide<vectors()>>{});
        });
    }

    /// Scores become weights; `rescale` what was summed before them is worth: (width).
    void fold(Recipe const& recipe, index_t n, T* scores, T* rescale) {
        kernel::with_vectors<tile::most_vectors>(vectors_, [&](auto vectors) {
            using many = normalizing<vectors()>;
            using rows = kernel::lane_rows<T, wide<vectors()>, typename many::of_row>;
            kernel::pack<T, wide<vectors()>> const factor =
                many::fold(recipe.normalize, std::get<vectors() - 1>(states_), rows{scores, n, width(), width()});
            factor.store(rescale);
        });
    }

    /// Adds `n` values from a key on to the sums of some vectors.
    void add(Operands const& operands, lane_run lanes, index_t key, index_t n, T const* weights, T const* rescale,
             kernel::coming_lines& coming) {
        bool const first_of_all = empty_ && lanes.last - lanes.first == vectors_;
        if (first_of_all) empty_ = false;
        else clear_if_empty(operands);
        T const* const values = operands.value.place(facts_.batch, key_head_, key, 0);
        index_t const stride = operands.value.stride(2), lane = lanes.first * tile::lanes;
        kernel::meet_rows<tile, T, Arch>(
            lanes.last - lanes.first, operands.value_features(),
            [&](index_t c) FOVEA_LAMBDA { return kernel::value_numbers<T>{values + c, stride}; }, n, weights + lane,
            sums_ + lane, width(), first_of_all ? nullptr : rescale + lane, coming);
    }

    /// The same where a value is not finite: it must not be multiplied by the weight 0 of a pair that takes no part.
    void add_visible(Operands const& operands, index_t key, index_t n, T const* weights, bool const* visible,
                     T const* rescale) {
        clear_if_empty(operands);
        for (index_t c = 0; c < operands.value_features(); ++c)
            for (index_t q = 0; q < width(); ++q) {
                T& sum = sums_[c * width() + q];
                sum *= rescale[q];
                for (index_t k = 0; k < n; ++k)
                    if (visible[k * width() + q])
                        sum += weights[k * width() + q] * *operands.value.place(facts_.batch, key_head_, key + k, c);
            }
    }

    void finish(Recipe const& recipe, Operands const& operands) {
        clear_if_empty(operands);
        alignas(64) T factors[tile::rows];
        kernel::with_vectors<tile::most_vectors>(vectors_, [&](auto vectors) {
            using many = normalizing<vectors()>;
            auto const& state = std::get<vectors() - 1>(states_);
            kernel::pack<T, wide<vectors()>>(many::finish(recipe.normalize, state)).store(factors);
            if constexpr (requires { recipe.normalize.log_sum(state); }
                          && std::tuple_size_v<decltype(operands.outputs)> > 0) {
                auto const sums = kernel::lanes_of<T, wide<vectors()>>::stored(many::log_sum(recipe.normalize, state));
                for (index_t r = 0; r < count_; ++r)
                    show_log_sum(operands.outputs, facts_of(r), sums[static_cast<std::size_t>(r)]);
            }
        });
        for (index_t lane = 0; lane < count_; lane += tile::lanes) write(operands, lane, vector::load(factors + lane));
    }

private:
    using whole = kernel::integer_like<T>;

    kernel::row_facts facts_of(index_t r) const {
        auto facts = facts_;
        r += first_row_;
        facts.q_idx = group_ == 1 ? r : r / group_;
        facts.head += r - facts.q_idx * group_;
        return facts;
    }

    /// The results of one vector of queries, which are rows again.
    void write(Operands const& operands, index_t lane, vector const& factor) const {
        index_t const features = operands.value_features(), rows = std::min<index_t>(count_ - lane, tile::lanes);
        for (index_t c = 0; c < features; c += tile::lanes) {
            vector block[tile::lanes];
            for (index_t i = 0; i < tile::lanes; ++i)
                block[i] = c + i < features ? vector::load(sums_ + (c + i) * width() + lane) * factor : vector(T{0});
            kernel::lanes_of<T, Arch>::transpose(block);
            for (index_t r = 0; r < rows; ++r) {
                auto const at = facts_of(lane + r);
                kernel::store_as<T, Arch>(block[r], operands.result.place(at.batch, at.head, at.q_idx, c),
                                          features - c);
            }
        }
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
    bool empty_ = true;  // nothing has been added to the sums, nor have they been cleared
    std::tuple<typename normalizing<1>::state, typename normalizing<2>::state, typename normalizing<3>::state>
        states_;  // of so many vectors
    static_assert(tile::most_vectors <= 3);
};

}  // namespace fovea::driver
