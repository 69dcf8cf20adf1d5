// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums of values with a key in each lane: values packed or read in place, the product P V or the steps of another
// aggregator, and rows finished.
#pragma once

#include <fovea/driver/call/products.hpp>
#include <fovea/driver/call/row_runs.hpp>
#include <fovea/driver/call/tile_of_pairs.hpp>
#include <fovea/driver/dense/block_cache.hpp>
#include <fovea/driver/dense/dense_context.hpp>
#include <fovea/kernel/product/accumulate.hpp>
#include <fovea/kernel/row.hpp>

#include <algorithm>
#include <memory>

namespace fovea::FOVEA_SET::driver {

/// The values of one head as a call stores them, whatever their type and place: how they are packed, and how they are
/// read in place.
template <class Call>
class stored_values {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using values_type = head_values<key_lanes_of<Call>>;
    static constexpr index_t lanes = kernel::pack<T, Arch>::lanes;

public:
    using rows = std::remove_const_t<decltype(Call::operands::value)>;
    using element = read_as<rows, T>;
    using product = kernel::value_product<T, Arch, element, typename Call::result_element, Call::is_linear>;
    static constexpr index_t keys_per_row = Call::keys_per_row;  // of packed values
    static_assert(keys_per_row == product::step::per_step);

    stored_values(typename Call::operands const& operands, values_type const& to)
        : rows_(operands.value), values_(to) {}

    index_t features() const { return rows_.extent(3); }

    /// One value as it is stored, or loaded.
    element const* operator()(index_t key) const { return row_of(rows_, values_.rows(key, 1), values_.loaded()); }

    /// Calls f(values, offset, count) with `count` values from a position on, some at a time.
    template <class F>
    void with_values(index_t key, index_t count, F const& f) const {
        if (!values_.in_place()) return f(kernel::even_rows<T>{values_.copy(key), values_.stride()}, index_t{0}, count);
        constexpr index_t listed = Call::fixed_order ? key_lanes_of<Call>::block_keys : 256;  // sums are not divided
        for_rows_in_place<Arch, true, listed>(rows_, values_.rows(key, count), values_.loaded(), f);
    }

    /// Packs the values of a block.
    void pack(index_t block) const {
        auto const all = values_.range(block);
        index_t const count = all.last - all.first;
        index_t const width = values_.stride();
        T* row = values_.copy(all.first);
        if constexpr (loaded_rows<rows>) {
            for_runs(rows_, all, values_.loaded(), [&](auto const& run, index_t) {
                for (index_t k = 0; k < run.count; ++k, row += width)
                    pack_row(run.first + k * run.stride, nullptr, row);
            });
        } else {
            constexpr index_t most = key_lanes_of<Call>::block_keys;
            auto const from = addresses_of<most>(rows_, all, values_.loaded());
            for (index_t k = 0; k < count; k += keys_per_row, row += width)
                pack_row(from(k), k + 1 < count ? from(k + 1) : nullptr, row);
        }
    }

private:
    void pack_row(element const* from, element const* next, T* row) const {
        product::pack_values(from, next, features(), row);
        std::fill(row + round_up(features(), lanes), row + values_.stride(), T{0});
    }
    rows const& rows_;
    values_type const& values_;
};

/// Adds the values of one head, with their weights, to the sums of a tile: (rows, width).
template <class Call>
class value_sums {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using stored = stored_values<Call>;
    using Aggregate = std::remove_const_t<decltype(Call::spec::aggregate)>;
    using tile = key_lanes_of<Call>;
    using rows_type = tile_rows<tile>;
    using scores = score_block<tile>;
    using product = typename stored::product;
    static constexpr bool is_linear = linear_aggregator<Aggregate>;

public:
    value_sums(context_of<Call, tile> const& call, rows_type const& rows, head_values<tile> const& values, T* sums)
        : values_(call.operands, values),
          packs_keys_(call.planned.keys == plan::reading::packed),
          aggregate_(call.spec.aggregate),
          rows_(rows.count),
          mr_(static_cast<int>(rows.width)),
          sums_(sums),
          width_(call.value_width()) {}

    FOVEA_CONTROL void add(scores const& weights, T const* rescale, kernel::prefetch_queue& next) const {
        for (index_t r = 0; r < rows_; ++r) product::round_weights(weights.scores + r * weights.stride, weights.count);
        T ones[tile::rows];
        values_.with_values(
            weights.first, weights.count, [&]<class Values>(Values const& values, index_t offset, index_t count) {
                constexpr bool as_computed = std::is_same_v<Values, kernel::even_rows<T>>;
                if (offset > 0)
                    rescale = std::fill_n(ones, tile::rows, T{1}) - tile::rows;  // done before the first value
                weighted_rows<T, Values> const all{
                    {{weights.scores + offset / stored::keys_per_row, weights.stride, {}},
                     count,
                     values,
                     sums_,
                     width_,
                     rescale},
                    width_,
                    rows_,
                    mr_,
                    Call::fixed_order};
                if constexpr (as_computed && Call::packs_keys)
                    if (packs_keys_) {  // converted values are packed
                        if constexpr (is_linear) packed_products<product>::accumulate(all, next);
                        else accumulate_tile<Arch>(aggregate_, all, next);
                        return;
                    }
                if constexpr (!is_linear) accumulate_few<product>(aggregate_, all);
                else if constexpr (as_computed) packed_products<product>::accumulate_few(all);
                else accumulate_few<product>(typename product::step{}, all);
            });
    }

    /// Adds only the values whose weight is not 0, where most are, as sparse normalizers leave them; elsewhere nothing
    /// is done, and false returned.
    bool add_nonzero(scores const& weights) const {
        if constexpr (stored::keys_per_row > 1) return false;
        else {
            if (!kernel::mostly_zero<T, Arch>(weights.scores, weights.stride, rows_, weights.count)) return false;
            values_.with_values(weights.first, weights.count, [&](auto const& values, index_t offset, index_t count) {
                for (index_t r = 0; r < rows_; ++r)
                    kernel::accumulate_nonzero<T, Arch>(aggregate_, weights.scores + r * weights.stride + offset, count,
                                                        values, sums_ + r * width_, width_);
            });
            return true;
        }
    }

    /// Adds the values of visible pairs one by one: no value is multiplied by the weight of an excluded pair.
    [[gnu::noinline]] FOVEA_CONTROL void add_visible(scores const& weights, T const* rescale) const {
        if constexpr (Call::fixed_order) return add_visible_in_order(weights, rescale);
        for (index_t r = 0; r < rows_; ++r) {
            T* const sum = sums_ + r * width_;
            for (index_t c = 0; c < width_; ++c) sum[c] *= rescale[r];
            for (index_t j = 0; j < weights.count; ++j) {
                index_t const pair = r * weights.stride + j;
                if (!weights.visible[pair]) continue;
                auto const* const value = values_(weights.first + j);
                for (index_t c = 0; c < values_.features(); ++c)
                    sum[c] = aggregate_.step(sum[c], weights.scores[pair], static_cast<T>(value[c]));
            }
        }
    }

private:
    /// The same in the order of add.
    void add_visible_in_order(scores const& weights, T const* rescale) const {
        using vector = kernel::pack<T, Arch>;
        for (index_t r = 0; r < rows_; ++r)
            for (index_t c = 0; c < values_.features(); c += vector::lanes) {
                vector sum(T{0});
                for (index_t j = 0; j < weights.count; ++j) {
                    index_t const pair = r * weights.stride + j;
                    if (!weights.visible[pair]) continue;
                    auto const value = kernel::load_as<T, Arch>(values_(weights.first + j) + c, values_.features() - c);
                    sum = fma(vector(weights.scores[pair]), value, sum);
                }
                T* const at = sums_ + r * width_ + c;
                fma(vector::load(at), vector(rescale[r]), sum).store(at);
            }
    }

    stored values_;
    bool packs_keys_;  // for many rows
    Aggregate const& aggregate_;
    index_t rows_;
    int mr_;   // of the register tile
    T* sums_;  // (rows, width)
    index_t width_;
};

/// The functions of normalizers and aggregators of any kind with a key in each lane.
template <class Call>
class key_lanes_sums {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using spec = typename Call::spec;
    using operands = typename Call::operands;
    using normalizing = typename Call::normalizing;
    using aggregator = std::remove_const_t<decltype(spec::aggregate)>;
    using state = typename normalizing::state;
    using row_type = kernel::packed_row<T, Arch, typename normalizing::of_row>;
    using stored = stored_values<Call>;
    using blocking = key_lanes_of<Call>;
    using context_type = context_of<Call, blocking>;
    using call_type = attention_call<blocking>;
    using rows_type = tile_rows<blocking>;
    using values_type = head_values<blocking>;
    using scores = score_block<blocking>;

    static context_type const& of(call_type const& call) { return static_cast<context_type const&>(call); }
    static state* states_of(online_state<T> const& all) { return static_cast<state*>(all.states); }

    FOVEA_CONTROL static void begin(call_type const& call, online_state<T>& sums) {
        std::fill_n(sums.sums, blocking::rows * call.value_width(), start_of<aggregator, T>);
        std::uninitialized_fill_n(states_of(sums), blocking::states, state{});
    }

    FOVEA_CONTROL static void copy(call_type const& call, values_type const& values, index_t block) {
        stored(of(call).operands, values).pack(block);
    }

    FOVEA_CONTROL static bool all_finite(call_type const& call, row_range const& values) {
        return driver::all_finite<T, Arch>(of(call).operands.value, values);
    }

    static row_type row_of(call_type const& call, scores const& s, index_t r) {
        index_t packs = s.packs();
        if constexpr (Call::fixed_order)  // each key belongs to the same chain of a sum, whichever is the last
            for (; packs % kernel::chains != 0; ++packs)
                std::fill_n(s.scores + r * s.stride + packs * blocking::lanes, blocking::lanes, excluded<T>);
        return {s.scores + r * s.stride, packs, {s.first + call.first_key}};
    }

    static void fold(call_type const& call, rows_type const& rows, online_state<T> const& sums, scores const& s,
                     T* rescale) {
        auto const& context = of(call);
        std::fill_n(rescale, blocking::rows, T{0});
        for (index_t r = 0; r < rows.count; ++r) {
            auto const row = row_of(call, s, r);
            rescale[r] = normalizing::fold(context.normalizer(rows.facts_of(call, r)), states_of(sums)[r], row);
            if constexpr (spec::reweights)
                kernel::reweigh<!spec::reweights_rows>(context.spec.reweight, rows.facts_of(call, r), row);
        }
        if constexpr (!Call::is_linear && !Call::selects)
            restart_aggregates(rows.count, sums.sums, context.value_width(), rescale);
    }

    /// An aggregate that is no sum cannot be multiplied by a rescale factor of 0: it begins anew instead.
    static void restart_aggregates(index_t rows, T* sums, index_t width, T* rescale) {
        for (index_t r = 0; r < rows; ++r)
            if (rescale[r] == T{0}) {
                std::fill_n(sums + r * width, width, start_of<aggregator, T>);
                rescale[r] = T{1};
            }
    }

    static value_sums<Call> sums_of(call_type const& call, rows_type const& rows, online_state<T> const& sums,
                                    values_type const& values) {
        return {of(call), rows, values, sums.sums};
    }
    static void add(call_type const& call, rows_type const& rows, online_state<T>& sums, values_type const& values,
                    scores const& weights, T* rescale, next_lines& next) {
        sums_of(call, rows, sums, values).add(weights, rescale, next.queue());
    }
    static void add_visible(call_type const& call, rows_type const& rows, online_state<T>& sums,
                            values_type const& values, scores const& weights, T const* rescale) {
        sums_of(call, rows, sums, values).add_visible(weights, rescale);
    }
    static bool add_nonzero(call_type const& call, rows_type const& rows, online_state<T>& sums,
                            values_type const& values, scores const& weights) {
        if constexpr (normalizing::whole_row && Call::is_linear)
            return sums_of(call, rows, sums, values).add_nonzero(weights);
        else return false;
    }

    FOVEA_CONTROL static void finish(call_type const& call, rows_type const& rows, online_state<T>& sums) {
        auto const& context = of(call);
        for (index_t r = 0; r < rows.count; ++r)
            finish_row(context, rows.facts_of(call, r), states_of(sums)[r], sums.sums + r * context.value_width());
    }

    /// The result of one row.
    static void finish_row(context_type const& context, kernel::row_coordinates const& row, state const& s,
                           T const* sum) {
        auto* const to = context.operands.result.place(row.batch, row.head, row.q_idx, 0);
        using out = std::remove_cvref_t<decltype(*to)>;
        index_t const n = context.value_features;
        if constexpr (Call::selects) {
            index_t const key = context.normalizer(row).selected(s);
            for (index_t c = 0; c < n; ++c)
                to[c] = static_cast<out>(
                    key < 0 ? T{0}
                            : static_cast<T>(context.operands.value(row.batch, row.head / context.tile_heads, key, c)));
        } else {
            T const factor = Call::whole_rows ? T{1} : normalizing::finish(context.normalizer(row), s);
            using vector = kernel::pack<T, Arch>;
            if constexpr (Call::fixed_order)  // the sign of a sum that is 0 may depend on values of weight 0
                for (index_t c = 0; c < n; c += blocking::lanes)
                    kernel::store_as<T, Arch>(vector::load(sum + c) * factor + vector(T{0}), to + c, n - c);
            else if constexpr (Call::is_linear)
                for (index_t c = 0; c < n; c += blocking::lanes)
                    kernel::store_as<T, Arch>(vector::load(sum + c) * factor, to + c, n - c);
            else
                for (index_t c = 0; c < n; ++c) to[c] = static_cast<out>(aggregated<aggregator>(sum[c], factor));
        }
        auto const& normalizer = context.normalizer(row);
        show_state(context.operands.outputs, row, normalizer, s, normalizing::log_sum(normalizer, s));
    }

    static void merge_splits(call_type const& call, kernel::row_coordinates const& coordinates,
                             partial_row<T> const& row) {
        if constexpr (Call::may_split_keys) {
            using vector = kernel::pack<T, Arch>;
            auto const& context = of(call);
            auto const state_of = [&](index_t p) -> state& {
                return *reinterpret_cast<state*>(row.states + p * row.state_stride);
            };
            for (index_t p = 1; p < row.splits; ++p) {
                auto const [own, others] =
                    normalizing::merge(context.normalizer(coordinates), state_of(0), state_of(p));
                T const* const other = row.sums + p * row.sum_stride;
                for (index_t c = 0; c < row.width; c += vector::lanes)
                    fma(vector::load(other + c), vector(others), vector::load(row.sums + c) * vector(own))
                        .store(row.sums + c);
            }
            if (row.ends) finish_row(context, coordinates, state_of(0), row.sums);
        }
    }

    static void normalize(call_type const& call, rows_type const& rows, online_state<T> const& sums, scores const& s) {
        if constexpr (Call::whole_rows)
            for (index_t r = 0; r < rows.count; ++r) {
                auto const& context = of(call);
                auto const& coordinates = rows.facts_of(call, r);
                auto const row = row_of(call, s, r);
                show_scores(context.operands.outputs, coordinates, row);
                normalizing::whole(context.normalizer(coordinates), states_of(sums)[r], row);
                if constexpr (spec::reweights)
                    kernel::reweigh<!spec::reweights_rows>(context.spec.reweight, coordinates, row);
                if constexpr (clears_excluded) clear_excluded(s.visible + r * s.stride, row.size(), row.scores);
            }
        if constexpr (Call::whole_rows)
            show_weights_of_tile(
                of(call).operands.outputs,
                tile_of_pairs<T const>{rows.coordinates.data(), rows.count, s.first, s.count, s.scores, s.stride},
                [&](index_t r) { return row_of(call, s, r); });
    }

    /// Whole vectors of weights.
    static void clear_excluded(bool const* visible, index_t count, T* weights) {
        using vector = kernel::pack<T, Arch>;
        for (index_t i = 0; i < count; i += vector::lanes)
            select(kernel::load_mask<T, Arch>(visible + i, vector::lanes), vector::load(weights + i), vector(T{0}))
                .store(weights + i);
    }
    /// True where weights of excluded pairs are set to 0 after the normalizer, since it or a reweighting may have made
    /// them anything, NaN too.
    static constexpr bool clears_excluded = operands::looks_at_rows || spec::reweights_rows;

public:
    static constexpr sums_functions<blocking> functions{.state_bytes = static_cast<index_t>(sizeof(state)),
                                                        .keys_per_row = stored::keys_per_row,
                                                        .loads_values = loaded_rows<typename stored::rows>,
                                                        .selects = Call::selects,
                                                        .is_linear = Call::is_linear,
                                                        .clears_excluded = clears_excluded,
                                                        .begin = &begin,
                                                        .copy = &copy,
                                                        .all_finite = &all_finite,
                                                        .fold = &fold,
                                                        .add = &add,
                                                        .add_visible = &add_visible,
                                                        .finish = &finish,
                                                        .add_nonzero = &add_nonzero,
                                                        .merge_splits = &merge_splits,
                                                        .normalize = &normalize};
};

}  // namespace fovea::FOVEA_SET::driver
