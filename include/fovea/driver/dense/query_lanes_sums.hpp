// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of a normalizer that takes a row in each lane, and of sums of values.
#pragma once

#include <fovea/driver/call/row_runs.hpp>
#include <fovea/driver/dense/query_lanes_scores.hpp>
#include <fovea/kernel/row.hpp>
#include <fovea/plan/normalizing.hpp>

#include <algorithm>
#include <memory>
#include <tuple>

namespace fovea::FOVEA_SET::driver {

/// The functions of a normalizer that takes a row in each lane, and of sums of values.
template <class Call>
class query_lanes_sums {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using vector = kernel::pack<T, Arch>;
    using normalizing = plan::normalizing<typename Call::normalizer, vector>;
    using state = typename normalizing::state;
    using blocking = query_lanes_of<Call>;
    using context_type = context_of<Call, blocking>;
    using call_type = attention_call<blocking>;
    using rows_type = tile_rows<blocking>;
    using value_rows = std::remove_const_t<decltype(Call::operands::value)>;
    using product = lane_products_of<blocking>;

    static context_type const& of(call_type const& call) { return static_cast<context_type const&>(call); }

    static void begin(call_type const&, online_state<T>& sums) {
        std::uninitialized_fill_n(static_cast<state*>(sums.states), blocking::states, state{});
        sums.empty = true;
    }

    static void copy(call_type const& call, head_values<blocking> const& values, index_t block) {
        [[maybe_unused]] auto const range = values.range(block);
        if constexpr (product::packs_values && loaded_rows<value_rows>) {
            static_assert(rows_at_once % blocking::granule == 0);
            for_runs(of(call).operands.value, range, values.loaded(), [&](auto const& run, index_t offset) {
                product::pack_values(strided_rows<T const>{run.first, run.stride}, run.count, call.value_features,
                                     values.copies(block) + offset * values.stride());
            });
        } else if constexpr (product::packs_values) {
            row_addresses<value_rows, blocking::block_keys> const rows(of(call).operands.value, range);
            product::pack_values(rows, range.last - range.first, call.value_features, values.copies(block));
        } else if constexpr (!always_in_place<value_rows, T>)
            copy_rows<Arch>(of(call).operands.value, range, values.copy(values.first(block)), values.stride());
    }
    static bool all_finite(call_type const& call, row_range const& values) {
        return driver::all_finite<T, Arch>(of(call).operands.value, values);
    }

    /// The normalizer of a vector of rows from one on. Where it differs by row, `fold` does not.
    static decltype(auto) normalizer_of_lanes(context_type const& context, [[maybe_unused]] rows_type const& rows,
                                              [[maybe_unused]] index_t lane) {
        if constexpr (!row_dependent_normalizer<typename Call::normalizer>) return (context.spec.normalize);
        else
            return normalizer_of_row(context.spec.normalize, [&](auto const& e) {
                alignas(64) T numbers[blocking::lanes];
                for (index_t r = 0; r < blocking::lanes; ++r)
                    numbers[r] = coordinates_of_row<T, Arch>{rows.facts_of(context, lane + r)}(e);
                return vector::load(numbers);
            });
    }
    static decltype(auto) normalizer_of_all(context_type const& context) {
        if constexpr (!row_dependent_normalizer<typename Call::normalizer>) return (context.spec.normalize);
        else return typename normalizing::of_row{};
    }

    static void fold(call_type const& call, rows_type const& rows, online_state<T> const& sums,
                     score_block<blocking> const& scores, T* rescale) {
        using row_lanes = kernel::lane_rows<T, Arch, typename normalizing::of_row>;
        auto* const states = static_cast<state*>(sums.states);
        for (index_t lane = 0; lane < rows.width; lane += blocking::lanes)
            normalizing::fold(
                normalizer_of_all(of(call)), states[lane / blocking::lanes],
                row_lanes{scores.scores + lane, scores.count, scores.stride, blocking::lanes, scores.row_max + lane})
                .store(rescale + lane);
    }

    static void finish(call_type const& call, rows_type const& rows, online_state<T>& sums) {
        auto const& context = of(call);
        query_lanes_products<blocking>::clear_if_empty(sums, context.value_width() * rows.width);
        for (index_t lane = 0; lane < rows.width; lane += blocking::lanes) {
            auto const& carried = static_cast<state const*>(sums.states)[lane / blocking::lanes];
            decltype(auto) normalizer = normalizer_of_lanes(context, rows, lane);
            write(context, rows, lane, sums.sums + lane, normalizing::finish(normalizer, carried));
            show_states<T, Arch>(context.operands.outputs, normalizer, carried, lane,
                                 std::min(rows.count, lane + blocking::lanes),
                                 [&](index_t r) { return rows.facts_of(context, r); });
        }
    }

    /// The results of one vector of queries, which are rows again.
    static void write(context_type const& context, rows_type const& rows, index_t lane, T const* sums,
                      vector const& factor) {
        using element = std::remove_pointer_t<decltype(context.operands.result.data)>;
        alignas(64) T factors[blocking::lanes];
        factor.store(factors);
        auto to = rows.strided(context, context.operands.result);
        to.offset += lane;
        result_rows<T, element> const results{
            sums, rows.width, factors, std::min<index_t>(rows.count - lane, blocking::lanes), context.value_features,
            to};
        if constexpr (std::is_same_v<element, T>) products<T, Arch>::store(results);
        else store_transposed<Arch>(results);
    }

public:
    static constexpr sums_functions<blocking> functions{
        .state_bytes = static_cast<index_t>(sizeof(state)),
        .loads_values = product::packs_values && loaded_rows<value_rows>,
        .begin = &begin,
        .copy = &copy,
        .all_finite = &all_finite,
        .fold = &fold,
        .add = &query_lanes_products<blocking>::add,
        .add_visible = &query_lanes_products<blocking>::add_visible,
        .finish = &finish};
};

}  // namespace fovea::FOVEA_SET::driver
