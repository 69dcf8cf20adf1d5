// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is compiled for a normalizer and an aggregator with keys in lanes.
#pragma once

#include <fovea/driver/call/all_finite.hpp>
#include <fovea/driver/dense/value_sums.hpp>
#include <fovea/kernel/reweigh.hpp>

#include <algorithm>
#include <memory>

namespace fovea::FOVEA_SET::driver {

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
    using shape = key_lanes_of<Call>;
    using context_type = context_of<Call, shape>;
    using call_type = attention_call<shape>;
    using rows_type = tile_rows<shape>;
    using values_type = head_values<shape>;
    using scores = score_block<shape>;

    static context_type const& of(call_type const& call) { return static_cast<context_type const&>(call); }
    static state* states_of(row_sums<T> const& all) { return static_cast<state*>(all.states); }

    static void begin(call_type const& call, row_sums<T>& sums) {
        std::fill_n(sums.sums, shape::rows * call.value_width(), start_of<aggregator, T>);
        std::uninitialized_fill_n(states_of(sums), shape::states, state{});
    }

    static void copy(call_type const& call, values_type const& values, index_t block) {
        stored(of(call).operands, values).pack(block);
    }

    static bool all_finite(call_type const& call, row_range const& values) {
        return driver::all_finite<T, Arch>(of(call).operands.value, values);
    }

    static row_type row_of(call_type const& call, scores const& s, index_t r) {
        return {s.scores + r * s.stride, s.packs(), {s.first + call.first_key}};
    }

    static void fold(call_type const& call, rows_type const& rows, row_sums<T> const& sums, scores const& s,
                     T* rescale) {
        auto const& context = of(call);
        std::fill_n(rescale, shape::rows, T{0});
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

    static value_sums<Call> sums_of(call_type const& call, rows_type const& rows, row_sums<T> const& sums,
                                    values_type const& values) {
        return {of(call), rows, values, sums.sums};
    }
    static void add(call_type const& call, rows_type const& rows, row_sums<T>& sums, values_type const& values,
                    scores const& weights, T* rescale, next_lines& next) {
        sums_of(call, rows, sums, values).add(weights, rescale, next.queue());
    }
    static void add_visible(call_type const& call, rows_type const& rows, row_sums<T>& sums, values_type const& values,
                            scores const& weights, T const* rescale) {
        sums_of(call, rows, sums, values).add_visible(weights, rescale);
    }
    static bool add_nonzero(call_type const& call, rows_type const& rows, row_sums<T>& sums, values_type const& values,
                            scores const& weights) {
        if constexpr (normalizing::whole_row && Call::is_linear)
            return sums_of(call, rows, sums, values).add_nonzero(weights);
        else return false;
    }

    static void finish(call_type const& call, rows_type const& rows, row_sums<T>& sums) {
        auto const& context = of(call);
        for (index_t r = 0; r < rows.count; ++r)
            finish_row(context, rows.facts_of(call, r), states_of(sums)[r], sums.sums + r * context.value_width());
    }

    /// The result of one row.
    static void finish_row(context_type const& context, kernel::row_facts const& row, state const& s, T const* sum) {
        auto* const to = context.operands.result.place(row.batch, row.head, row.q_idx, 0);
        using out = std::remove_cvref_t<decltype(*to)>;
        index_t const n = context.value_features;
        if constexpr (Call::selects) {
            index_t const key = context.normalizer(row).selected(s);
            for (index_t c = 0; c < n; ++c)
                to[c] = key < 0
                          ? out{0}
                          : static_cast<out>(context.operands.value(row.batch, row.head / context.tile_heads, key, c));
        } else {
            T const factor = Call::whole_rows ? T{1} : normalizing::finish(context.normalizer(row), s);
            if constexpr (Call::is_linear)
                for (index_t c = 0; c < n; c += shape::lanes)
                    kernel::store_as<T, Arch>(kernel::pack<T, Arch>::load(sum + c) * factor, to + c, n - c);
            else
                for (index_t c = 0; c < n; ++c) to[c] = static_cast<out>(aggregated<aggregator>(sum[c], factor));
        }
        auto const& normalizer = context.normalizer(row);
        show_state(context.operands.outputs, row, normalizer, s, normalizing::log_sum(normalizer, s));
    }

    static void merge_splits(call_type const& call, kernel::row_facts const& facts, partial_row<T> const& row) {
        if constexpr (Call::may_split_keys) {
            using vector = kernel::pack<T, Arch>;
            auto const& context = of(call);
            auto const state_of = [&](index_t p) -> state& {
                return *reinterpret_cast<state*>(row.states + p * row.state_stride);
            };
            for (index_t p = 1; p < row.splits; ++p) {
                auto const [own, others] = normalizing::merge(context.normalizer(facts), state_of(0), state_of(p));
                T const* const other = row.sums + p * row.sum_stride;
                for (index_t c = 0; c < row.width; c += vector::lanes)
                    fma(vector::load(other + c), vector(others), vector::load(row.sums + c) * vector(own))
                        .store(row.sums + c);
            }
            if (row.ends) finish_row(context, facts, state_of(0), row.sums);
        }
    }

    static void normalize(call_type const& call, rows_type const& rows, row_sums<T> const& sums, scores const& s) {
        if constexpr (Call::whole_rows)
            for (index_t r = 0; r < rows.count; ++r) {
                auto const& context = of(call);
                auto const& facts = rows.facts_of(call, r);
                auto const row = row_of(call, s, r);
                show_scores(context.operands.outputs, facts, row);
                normalizing::whole(context.normalizer(facts), states_of(sums)[r], row);
                if constexpr (spec::reweights)
                    kernel::reweigh<!spec::reweights_rows>(context.spec.reweight, facts, row);
                if constexpr (clears_excluded)
                    for (index_t i = 0; i < row.size(); ++i)
                        if (!s.visible[r * s.stride + i]) row[i] = T{0};
                show_weights(context.operands.outputs, facts, row);
            }
    }

    /// True where weights of excluded pairs are set to 0 after the normalizer, since it or a reweighting may have made
    /// them anything, NaN too.
    static constexpr bool clears_excluded = operands::looks_at_rows || spec::reweights_rows;

public:
    static constexpr sums_functions<shape> functions{.state_bytes = static_cast<index_t>(sizeof(state)),
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
