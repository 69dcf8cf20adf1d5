// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is compiled for a specification with keys in lanes: its scores, and what is made of them.
#pragma once

#include <fovea/driver/dense/tile_scores.hpp>
#include <fovea/driver/dense/value_sums.hpp>
#include <fovea/kernel/reweigh.hpp>

#include <algorithm>
#include <memory>

namespace fovea::FOVEA_SET::driver {

/// The functions of a score and a mask with a key in each lane: operands of any type in any place.
template <class Call>
class key_lanes_scores {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using context = key_lanes_context<Call>;
    using rows_type = key_lanes_rows<T, Arch>;
    using keys_type = packed_keys<T, Arch>;
    using stored = stored_keys<Call>;
    using shape = plan::key_lanes_blocking<T, Arch>;

    static context const& of(dense_rows const& all) { return static_cast<context const&>(all); }

    static void begin(dense_rows const& call, rows_type& rows, bool in_place) {
        tile_scores<Call>::prepare(of(call), rows, in_place);
    }
    static void pack(dense_rows const& call, keys_type& keys, index_t block) { stored(of(call), keys).pack(block); }
    static void score(dense_rows const& call, rows_type const& rows, keys_type const& keys, key_run<shape> const& at,
                      score_block<T> const& to, next_lines& next) {
        tile_scores<Call>::score(of(call), rows, keys, at, to, next);
    }

public:
    static constexpr key_lanes_functions<T, Arch> functions{
        .products = stored::products,
        .pairs = stored::pairs,
        .query_factors = tile_scores<Call>::query_factors,
        .row_terms = tile_scores<Call>::row_terms,
        .row_indices = tile_scores<Call>::row_indices,
        .planes = stored::planes,
        .key_terms = stored::key_terms,
        .key_indices = plan::count_of<decltype(context::indices_type::keys)>,
        .terms_per_head = stored::terms_per_head,
        .loads_keys = loaded_rows<typename stored::key_rows>,
        .is_bare_product = Call::is_bare_product,
        .begin = &begin,
        .pack = &pack,
        .score = &score};

    static context make_context(plan::call_plan const& how, typename Call::spec const& of,
                                typename Call::operands const& all) {
        return context(how, of, all, functions);
    }
};

/// The functions of a specification with a key in each lane: operands of any type in any place, normalizers and
/// aggregators of any kind.
template <class Call>
class key_lanes_spec {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using spec = typename Call::spec;
    using operands = typename Call::operands;
    using normalizing = typename Call::normalizing;
    using aggregator = std::remove_const_t<decltype(spec::aggregate)>;
    using state = typename normalizing::state;
    using row_type = kernel::packed_row<T, Arch, typename normalizing::of_row>;
    using rows_type = key_lanes_rows<T, Arch>;
    using values_type = packed_values<T, Arch>;
    using stored = stored_values<Call>;
    using shape = plan::key_lanes_blocking<T, Arch>;

public:
    using context = key_lanes_context<Call>;

    static context make_context(plan::call_plan const& how, spec const& of, operands const& all) {
        return context(how, of, all, key_lanes_scores<Call>::functions, functions);
    }

private:
    static context const& of(dense_rows const& all) { return static_cast<context const&>(all); }
    static state* states_of(row_sums<T> const& all) { return static_cast<state*>(all.states); }

    static void begin(row_sums<T> const& sums) { std::uninitialized_fill_n(states_of(sums), shape::rows, state{}); }

    static void pack(dense_rows const& call, values_type& values, index_t block) {
        stored(of(call).operands, values).pack(block);
    }

    static bool all_finite(dense_rows const& call, row_range const& values) {
        return driver::all_finite<T, Arch>(of(call).operands.value, values);
    }

    static row_type row_of(row_scores<T> const& all, index_t r) {
        return {all.scores + r * all.stride, all.packs, {all.first_key}};
    }

    static void fold(dense_rows const& call, rows_type const& rows, row_sums<T> const& sums,
                     row_scores<T> const& scores, T* rescale) {
        auto const& all = of(call);
        for (index_t r = 0; r < rows.count; ++r) {
            auto const row = row_of(scores, r);
            rescale[r] = normalizing::fold(all.normalizer(rows.facts[r]), states_of(sums)[r], row);
            if constexpr (spec::reweights)
                kernel::reweigh<!spec::reweights_rows>(all.spec.reweight, rows.facts[r], row);
        }
        if constexpr (!Call::is_linear && !Call::selects)
            restart_aggregates(rows.count, sums.sums, all.value_width(), rescale);
    }

    /// An aggregate that is no sum cannot be multiplied by a rescale factor of 0: it begins anew instead.
    static void restart_aggregates(index_t rows, T* sums, index_t width, T* rescale) {
        for (index_t r = 0; r < rows; ++r)
            if (rescale[r] == T{0}) {
                std::fill_n(sums + r * width, width, start_of<aggregator, T>);
                rescale[r] = T{1};
            }
    }

    static void add(dense_rows const& call, T* sums, values_type const& values, weight_tile<T> const& weights,
                    T const* rescale, next_lines& next) {
        value_sums<Call>(of(call), values, sums).add(weights, rescale, next.queue());
    }
    static void add_visible(dense_rows const& call, T* sums, values_type const& values, weight_tile<T> const& weights,
                            T const* rescale) {
        value_sums<Call>(of(call), values, sums).add_visible(weights, rescale);
    }
    static bool add_nonzero(dense_rows const& call, T* sums, values_type const& values, weight_tile<T> const& weights) {
        if constexpr (normalizing::whole_row && Call::is_linear)
            return value_sums<Call>(of(call), values, sums).add_nonzero(weights);
        else return false;
    }

    static void finish(dense_rows const& call, rows_type const& rows, row_sums<T> const& sums) {
        auto const& all = of(call);
        for (index_t r = 0; r < rows.count; ++r)
            finish_row(all, rows.facts[r], states_of(sums)[r], sums.sums + r * all.value_width());
    }

    /// The result of one row.
    static void finish_row(context const& all, kernel::row_facts const& row, state const& s, T const* sum) {
        auto* const to = all.operands.result.place(row.batch, row.head, row.q_idx, 0);
        using out = std::remove_cvref_t<decltype(*to)>;
        index_t const n = all.value_features;
        if constexpr (Call::selects) {
            index_t const key = all.normalizer(row).selected(s);
            for (index_t c = 0; c < n; ++c)
                to[c] = key < 0 ? out{0}
                                : static_cast<out>(all.operands.value(row.batch, row.head / all.tile_heads, key, c));
        } else {
            T const factor = Call::whole_rows ? T{1} : normalizing::finish(all.normalizer(row), s);
            if constexpr (Call::is_linear)
                for (index_t c = 0; c < n; c += shape::lanes)
                    kernel::store_as<T, Arch>(kernel::pack<T, Arch>::load(sum + c) * factor, to + c, n - c);
            else
                for (index_t c = 0; c < n; ++c) to[c] = static_cast<out>(aggregated<aggregator>(sum[c], factor));
        }
        show_log_sum(all.operands.outputs, row, normalizing::log_sum(all.normalizer(row), s));
    }

    static void merge_splits(dense_rows const& call, kernel::row_facts const& facts, partial_row<T> const& row) {
        if constexpr (Call::may_split_keys) {
            using vector = kernel::pack<T, Arch>;
            auto const& all = of(call);
            auto const state_of = [&](index_t p) -> state& {
                return *reinterpret_cast<state*>(row.states + p * row.state_stride);
            };
            for (index_t p = 1; p < row.splits; ++p) {
                auto const [own, others] = normalizing::merge(all.normalizer(facts), state_of(0), state_of(p));
                T const* const other = row.sums + p * row.sum_stride;
                for (index_t c = 0; c < row.width; c += vector::lanes)
                    fma(vector::load(other + c), vector(others), vector::load(row.sums + c) * vector(own))
                        .store(row.sums + c);
            }
            finish_row(all, facts, state_of(0), row.sums);
        }
    }

    static void normalize(dense_rows const& call, rows_type const& rows, row_sums<T> const& sums,
                          row_scores<T> const& scores, bool const* visible) {
        if constexpr (Call::whole_rows)
            for (index_t r = 0; r < rows.count; ++r) {
                auto const& all = of(call);
                auto const& facts = rows.facts[r];
                auto const row = row_of(scores, r);
                show_scores(all.operands.outputs, facts, row);
                normalizing::whole(all.normalizer(facts), states_of(sums)[r], row);
                if constexpr (spec::reweights) kernel::reweigh<!spec::reweights_rows>(all.spec.reweight, facts, row);
                if constexpr (clears_excluded)
                    for (index_t i = 0; i < row.size(); ++i)
                        if (!visible[r * scores.stride + i]) row[i] = T{0};
                show_weights(all.operands.outputs, facts, row);
            }
    }

    /// True where weights of excluded pairs are set to 0 after the normalizer, since it or a reweighting may have made
    /// them anything, NaN too.
    static constexpr bool clears_excluded = operands::looks_at_rows || spec::reweights_rows;

    static constexpr key_lanes_sums_functions<T, Arch> functions{.state_bytes = static_cast<index_t>(sizeof(state)),
                                                                 .keys_per_row = stored::keys_per_row,
                                                                 .loads_values = loaded_rows<typename stored::rows>,
                                                                 .selects = Call::selects,
                                                                 .is_linear = Call::is_linear,
                                                                 .clears_excluded = clears_excluded,
                                                                 .start = start_of<aggregator, T>,
                                                                 .begin = &begin,
                                                                 .pack = &pack,
                                                                 .all_finite = &all_finite,
                                                                 .fold = &fold,
                                                                 .add = &add,
                                                                 .add_visible = &add_visible,
                                                                 .add_nonzero = &add_nonzero,
                                                                 .finish = &finish,
                                                                 .merge_splits = &merge_splits,
                                                                 .normalize = &normalize};
};

}  // namespace fovea::FOVEA_SET::driver
