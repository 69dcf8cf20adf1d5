// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/dense/score_tile.hpp>
#include <fovea/driver/dense/value_sums.hpp>
#include <fovea/kernel/reweigh.hpp>

#include <algorithm>
#include <memory>

namespace fovea::FOVEA_SET::driver {

/// A tile of dense_loop with a key in each lane of a row: for operands of any type in any place, normalizers of any
/// kind, and few queries.
template <class Call>
class row_tile {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using recipe = typename Call::recipe;
    using context = dense_context<Call>;
    using normalizing = typename Call::normalizing;
    using aggregator = std::remove_const_t<decltype(recipe::aggregate)>;
    static constexpr bool adds = Call::adds, selects = Call::selects;

public:
    using call = Call;
    using shape = plan::tile<T, Arch>;
    using keys = packed_keys<Call>;
    using part = key_part<shape>;
    using state = typename normalizing::state;
    using row_type = kernel::packed_row<T, Arch, typename normalizing::of_row>;
    static constexpr bool whole_panels = score_tile<Call>::whole_panels;

    /// Scores, and then weights, of one tile and some blocks of keys at a time.
    struct room {
        static constexpr index_t planes = std::max<index_t>(keys::products + keys::pairs, 1);
        index_t stride;
        T* scores;      // (planes, rows, stride)
        bool* visible;  // (rows, stride) which pairs take part, where values are not finite
        T rescale[shape::rows];

        room(arena& memory, index_t blocks)
            : stride(blocks * shape::block_keys + shape::lanes),
              scores(memory.template take<T>(planes * shape::rows * stride)),
              visible(memory.template take<bool>(shape::rows * stride)) {}

        index_t plane_stride() const { return shape::rows * stride; }
    };

    /// Where sums and states are left that are not finished: (rows of all tiles, value width).
    struct place {
        T* sums = nullptr;
        state* states = nullptr;

        bool empty() const { return sums == nullptr; }
        place tile(index_t t, keys const& from) const {
            return empty() ? place{} : place{sums + t * shape::rows * from.value_width(), states + t * shape::rows};
        }
    };

    row_tile(arena& memory, context const& all, place const& at)
        : sums_(at.empty() ? memory.template take<T>(shape::rows * keys::value_width(all.operands)) : at.sums),
          states_(at.empty() ? memory.template take<state>(shape::rows) : at.states) {
        scores_.products.take(memory, all.operands.features());
        scores_.queries = memory.template take<T>(scores_.query_room(all.operands.features()));
    }

    /// Begins with so many rows from `first` on.
    void begin(context const& all, head_group head, index_t first, index_t count, keys const& from) {
        head_ = head;
        scores_.prepare(all, head, first, count, from.in_place());
        std::fill_n(sums_, shape::rows * from.value_width(), start_of<aggregator, T>);
        std::uninitialized_fill_n(states_, shape::rows, state{});
    }

    index_t rows() const { return scores_.rows; }
    kernel::row_facts const& facts(index_t r) const { return scores_.facts[r]; }

    /// What all rows span, for interval readings; all keys.
    box span(context const& all) const { return all.span(head_, scores_.first_row, scores_.first_row + scores_.rows); }

    /// S, for part of a block of keys.
    template <class Visible>
    void score(context const& all, Visible const&, keys const& from, part const& at, room const& to, bool) const {
        score(all, from, at, to, 0);
    }
    /// The same where a block has `column` keys of others before it.
    void score(context const& all, keys const& from, part const& at, room const& to, index_t column) const {
        scores_.score(all, from, at, to.scores + column, to.stride, to.plane_stride());
    }

    bool any_excluded(keys const&, part const& at, room const& of) const {
        bool found = false;
        for (index_t r = 0; r < rows() && !found; ++r)
            found = kernel::any_excluded<T, Arch>(of.scores + r * of.stride + at.run.first * shape::lanes,
                                                  at.run.last - at.run.first);
        return found;
    }

    /// Which pairs take part, where values are not finite.
    void mark_visible(keys const&, part const& at, room const& of) const {
        mark_visible(of, at.run.first * shape::lanes, at.run.last * shape::lanes);
    }
    void mark_visible(room const& of, index_t first, index_t last) const {
        for (index_t r = 0; r < rows(); ++r)
            for (index_t i = r * of.stride + first; i < r * of.stride + last; ++i)
                of.visible[i] = of.scores[i] != excluded<T>;
    }

    /// m, l, P: scores become weights.
    void fold(context const& all, keys const& from, part const& at, room& of) {
        index_t const column = at.run.first * shape::lanes;
        std::fill_n(of.rescale, shape::rows, T{0});
        for (index_t r = 0; r < rows(); ++r) {
            row_type const row{
                of.scores + r * of.stride + column, at.run.last - at.run.first, {from.first(at.block) + column}};
            of.rescale[r] = normalizing::fold(all.normalizer(facts(r)), states_[r], row);
            if constexpr (recipe::reweights)
                kernel::reweigh<!recipe::reweights_rows>(all.recipe.reweight, facts(r), row);
        }
        if constexpr (!adds && !selects) forget_unweighted(from.value_width(), of.rescale);
    }

    /// O = O * rescale + P V
    void add(context const& all, keys const& from, part const& at, room const& of) {
        sums(all, from).add(weights_of(from, at, of), of.rescale);
    }
    /// The same where a value is not finite: it must not be multiplied by the weight 0 of a pair that takes no part.
    void add_visible(context const& all, keys const& from, part const& at, room const& of) {
        sums(all, from).add_visible(weights_of(from, at, of), of.visible + at.run.first * shape::lanes, of.rescale);
    }

    /// O / l
    void finish(context const& all) {
        for (index_t r = 0; r < rows(); ++r)
            finish_row(all, facts(r), states_[r], sums_ + r * keys::value_width(all.operands),
                       [&] { return normalizing::finish(all.normalizer(facts(r)), states_[r]); });
    }

    /// The result of one row, whose sums are multiplied by factor().
    template <class Factor>
    static void finish_row(context const& all, kernel::row_facts const& row, state const& s, T const* sum,
                           Factor const& factor_of) {
        auto const& operands = all.operands;
        auto* const to = operands.result.place(row.batch, row.head, row.q_idx, 0);
        using out = std::remove_cvref_t<decltype(*to)>;
        index_t const n = operands.value_features();
        if constexpr (selects) {
            index_t const key = all.normalizer(row).selected(s);
            auto const* from = key < 0 ? nullptr : operands.value.place(row.batch, row.head / operands.group(), key, 0);
            for (index_t c = 0; c < n; ++c) to[c] = from ? static_cast<out>(from[c]) : out{0};
        } else {
            T const factor = factor_of();
            if constexpr (adds)
                for (index_t c = 0; c < n; c += shape::lanes)
                    kernel::store_as<T, Arch>(kernel::pack<T, Arch>::load(sum + c) * factor, to + c, n - c);
            else
                for (index_t c = 0; c < n; ++c) to[c] = static_cast<out>(aggregated<aggregator>(sum[c], factor));
        }
        show_log_sum(operands.outputs, row, normalizing::log_sum(all.normalizer(row), s));
    }

    T* sum(index_t r, keys const& from) const { return sums_ + r * from.value_width(); }
    state& state_of(index_t r) const { return states_[r]; }
    auto sums(context const& all, keys const& from) const {
        return value_sums<T, Arch, keys, aggregator>(from, all.recipe.aggregate, sums_);
    }
    /// Rows of the register tile.
    int step() const { return scores_.step; }

private:
    weight_tile<T> weights_of(keys const& from, part const& at, room const& of) const {
        index_t const key = at.run.first * shape::lanes;
        index_t const count = std::min(at.run.last * shape::lanes, from.last(at.block) - from.first(at.block)) - key;
        return {of.scores + key, of.stride, rows(), step(), at.block, key, count};
    }

    /// Where all before has weight 0 beside what comes, a sum that is no sum begins anew.
    void forget_unweighted(index_t width, T* rescale) const {
        for (index_t r = 0; r < rows(); ++r)
            if (rescale[r] == T{0}) {
                std::fill_n(sums_ + r * width, width, start_of<aggregator, T>);
                rescale[r] = T{1};
            }
    }

    score_tile<Call> scores_;
    head_group head_{};
    T* sums_;        // (rows, value_width)
    state* states_;  // (rows)
};

}  // namespace fovea::FOVEA_SET::driver
