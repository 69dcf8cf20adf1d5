// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of listed keys: scores and weights of one query, all heads at once, the sums of its listed values (SpMM), and
// terms of a query or a key alone.
#pragma once

#include <fovea/driver/call/operands.hpp>
#include <fovea/driver/graph/batch_rows.hpp>
#include <fovea/driver/run/workspace.hpp>
#include <fovea/kernel/head_sums.hpp>
#include <fovea/kernel/lane_groups.hpp>
#include <fovea/kernel/pairs.hpp>
#include <fovea/kernel/product/accumulate.hpp>
#include <fovea/kernel/row.hpp>
#include <fovea/plan/traversal.hpp>
#include <fovea/simd/simd.hpp>
#include <fovea/spec/concepts.hpp>

#include <algorithm>
#include <memory>
#include <span>

namespace fovea::FOVEA_SET::kernel {

/// Weights of listed keys: all heads of one key, then those of the next.
template <class T>
struct listed_weights {
    T const* weights;
    T const* scores;   // before they became weights: excluded pairs are left out whatever their weight
    T const* factors;  // (heads), of the sums
    index_t stride;    // elements from key to key
    index_t keys;
};

/// The sums of values that are contiguous for some heads, weighted for each head.
///
///     to[c] = factor(head of c) * sum_e weight(e, head of c) value(e)[c]
///
/// `head_of` holds the head of each column; `value(e)` points to the first column of the eth key. One_head: every
/// vector of columns belongs to one head.
template <bool Nonfinite, bool One_head, int Vectors, class T, class Arch, class Aggregate, class Value, class Out>
[[gnu::noinline]] void accumulate_listed(Aggregate const& aggregate, listed_weights<T> const& from,
                                         integer_like<T> const* head_of, Value const& value, index_t column,
                                         index_t columns, Out* to) {
    using vector = pack<T, Arch>;
    using integers = index_pack<T, Arch>;
    using groups = lane_groups_of<T, Arch>;
    constexpr index_t width = vector::lanes;
    index_t const head = head_of[column];
    c_array<vector, Vectors> sum;
    c_array<integers, Vectors> lane;
    c_array<index_t, Vectors> heads;
    unrolled<Vectors>([&](auto v) FOVEA_LAMBDA {
        sum[v] = vector(start_of<Aggregate, T>);
        if constexpr (One_head) heads[v] = head_of[column + v * width];
        else lane[v] = integers::load(head_of + column + v * width) - integers(head);
    });
    auto const of_columns = [&](T const* of_heads, auto v) FOVEA_LAMBDA {  // a number of each head, in its columns
        if constexpr (One_head) return vector(of_heads[heads[v]]);
        else return groups::permuted(vector::load(of_heads + head), lane[v]);
    };
    for (index_t e = 0; e < from.keys; ++e) {
        auto const* const row = value(e);
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA {
            auto const x = [&] {
                if constexpr (Vectors == 1) return load_as<T, Arch>(row + column, columns - column);
                else return load_as<T, Arch>(row + column + v * width, width);
            }();
            auto const next = aggregate_step(aggregate, sum[v], of_columns(from.weights + e * from.stride, v), x);
            if constexpr (Nonfinite)
                sum[v] = select(of_columns(from.scores + e * from.stride, v) == vector(excluded<T>), sum[v], next);
            else sum[v] = next;
        });
    }
    unrolled<Vectors>([&](auto v) FOVEA_LAMBDA {
        auto result = sum[v] * of_columns(from.factors, v);
        if constexpr (!linear_aggregator<Aggregate>)
            result = select(sum[v] == vector(start_of<Aggregate, T>), vector(T{0}), result);
        store_as(result, to + column + v * width, columns - column - v * width);
    });
}

/// accumulate_listed: these sums for all columns, some vectors at a time.
template <bool Nonfinite, class T, class Arch, class Aggregate, class Value, class Out>
FOVEA_INLINE void accumulate_listed(Aggregate const& aggregate, listed_weights<T> const& from,
                                    integer_like<T> const* head_of, bool one_head, Value const& value, index_t columns,
                                    Out* to) {
    constexpr index_t width = pack<T, Arch>::lanes;
    constexpr int wide = Nonfinite ? 1 : Arch::registers / 8;
    index_t c = 0;
    if constexpr (!Nonfinite)
        for (; c + wide * width <= columns && head_of[c + wide * width - 1] - head_of[c] < width; c += wide * width) {
            if (one_head)
                accumulate_listed<Nonfinite, true, wide, T, Arch>(aggregate, from, head_of, value, c, columns, to);
            else accumulate_listed<Nonfinite, false, wide, T, Arch>(aggregate, from, head_of, value, c, columns, to);
        }
    for (; c < columns; c += width)
        accumulate_listed<Nonfinite, false, 1, T, Arch>(aggregate, from, head_of, value, c, columns, to);
}

}  // namespace fovea::FOVEA_SET::kernel

namespace fovea::FOVEA_SET::driver {

/// Maps a query head to its key/value head: division by the group size as a multiplication by its inverse, since a
/// division takes longer than the loads that need its result. Exact for head < 2^20.
class key_head_of {
public:
    explicit key_head_of(index_t size) : inverse_(ceil_div(index_t{1} << 40, size)) {}
    FOVEA_INLINE index_t operator()(index_t head) const { return (head * inverse_) >> 40; }

private:
    index_t inverse_;
};

/// The rows of one query for all heads: from scores to the result.
///
/// A normalizer that takes rows in lanes is run on all heads at once, any other on one head after the other.
template <class Call>
class listed_rows {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using Spec = typename Call::spec;
    using Operands = typename Call::operands;
    using normalizing = typename Call::normalizing;
    using state = typename normalizing::state;
    using vector = kernel::pack<T, Arch>;
    static constexpr index_t width = vector::lanes;

public:
    listed_rows(Spec const& spec, Operands const& operands, kernel::head_lanes const& lanes, arena& memory,
                index_t longest)
        : spec_(spec), operands_(operands), lanes_(lanes) {
        index_t const pairs = round_up(lanes.pairs(longest), width) + width, columns = operands.value_features();
        bool const adjacent =
            operands.group() == 1 && head_stride(operands.value) == columns && head_stride(operands.result) == columns;
        together_ = adjacent ? lanes.heads : 1;
        scores_ = memory.template take<T>(pairs);
        before_ = memory.template take<T>(pairs);
        row_ = memory.template take<T>(round_up(longest, width));
        row_before_ = memory.template take<T>(round_up(longest, width));
        keys_ = memory.template take<std::int32_t>(round_up(longest, width));
        factors_ = memory.template take<T>(lanes.common_period(width) + width);
        selected_ = memory.template take<index_t>(lanes.heads);
        index_t const head_columns = round_up(together_ * columns, width);
        auto* const head_of = memory.template take<kernel::integer_like<T>>(head_columns);
        for (index_t c = 0; c < head_columns; ++c)
            head_of[c] =
                static_cast<kernel::integer_like<T>>(std::min(c / std::max<index_t>(columns, 1), together_ - 1));
        head_of_ = head_of;
    }

    T* scores() const { return scores_; }  // (keys, head lanes), to be filled up to whole vectors

    /// Normalizes the scores of a query and adds up the values with its weights. `excluding`: a pair is excluded.
    void finish(kernel::row_coordinates const& row, std::span<std::int32_t const> listed, bool excluding) const {
        index_t const n = std::ssize(listed);
        if (excluding) std::copy_n(scores_, lanes_.pairs(n), before_);
        if constexpr (Call::normalizes_in_lanes) normalize_all(row, n);
        else normalize_each(row, listed);
        if constexpr (Call::selects) copy_selected(row);
        else if (excluding) add_values<true>(row, listed);
        else add_values<false>(row, listed);
    }

private:
    decltype(auto) normalizer(kernel::row_coordinates const& row) const {
        return normalizer_of_row(spec_.normalize, coordinates_of_row<T, Arch>{row});
    }
    static kernel::row_coordinates of_head(kernel::row_coordinates row, index_t head) {
        row.head = head;
        return row;
    }

    /// All heads at once, a row for each lane.
    void normalize_all(kernel::row_coordinates const& row, index_t n) const {
        using many = plan::normalizing<typename Call::normalizer, vector>;
        using rows = kernel::lane_rows<T, Arch, typename normalizing::of_row>;
        index_t const period = lanes_.common_period(width),
                      packs = lanes_.padded_heads < width ? ceil_div(lanes_.pairs(n), width) : n;
        for (index_t l = 0; l < period; l += width) {
            typename many::state s;
            static_cast<void>(many::fold(spec_.normalize, s, rows{scores_ + l, packs, period, lanes_.padded_heads}));
            vector(many::finish(spec_.normalize, s)).store(factors_ + l);
            show_states<T, Arch>(operands_.outputs, spec_.normalize, s, l, std::min(l + width, lanes_.heads),
                                 [&](index_t h) { return of_head(row, h); });
        }
    }

    /// One head after the other, its scores copied to a contiguous row.
    void normalize_each(kernel::row_coordinates const& row, std::span<std::int32_t const> listed) const {
        index_t const n = std::ssize(listed), padded = round_up(n, width);
        std::copy(listed.begin(), listed.end(), keys_);
        std::fill(keys_ + n, keys_ + padded, n > 0 ? listed.back() : 0);
        for (index_t h = 0; h < lanes_.heads; ++h) {
            T* const scores = scores_ + h;
            for (index_t e = 0; e < n; ++e) row_[e] = scores[lanes_.pairs(e)];
            std::fill(row_ + n, row_ + padded, excluded<T>);
            normalize_one(of_head(row, h), padded);
            for (index_t e = 0; e < n; ++e) scores[lanes_.pairs(e)] = row_[e];
        }
    }

    void normalize_one(kernel::row_coordinates const& row, index_t padded) const {
        // The weight of an excluded pair is 0 whatever a normalizer or a reweighting makes of the row, NaN included.
        constexpr bool clears_excluded = Operands::looks_at_rows || Spec::reweights_rows;
        if constexpr (clears_excluded) std::copy_n(row_, padded, row_before_);
        state s{};
        kernel::packed_row<T, Arch, typename normalizing::of_row, kernel::listed_keys> const weights{
            row_, padded / width, {keys_}};
        factors_[row.head] = T{1};
        auto const& here = normalizer(row);
        if constexpr (Call::whole_rows) {
            show_scores(operands_.outputs, row, weights);
            normalizing::whole(here, s, weights);
            if constexpr (Spec::reweights) kernel::reweigh<!Spec::reweights_rows>(spec_.reweight, row, weights);
            for (index_t e = 0; e < padded && clears_excluded; ++e)
                if (row_before_[e] == excluded<T>) weights[e] = T{0};
            show_weights(operands_.outputs, row, weights);
        } else {
            normalizing::fold(here, s, weights);
            if constexpr (Spec::reweights) kernel::reweigh<!Spec::reweights_rows>(spec_.reweight, row, weights);
            factors_[row.head] = normalizing::finish(here, s);
        }
        if constexpr (Call::selects) selected_[row.head] = here.selected(s);
        show_state(operands_.outputs, row, here, s, normalizing::log_sum(here, s));
    }

    /// Adds up values with their weights: all heads of a key at once where they are contiguous, otherwise one head
    /// after the other.
    template <bool Excluding>
    void add_values(kernel::row_coordinates const& row, std::span<std::int32_t const> listed) const {
        index_t const columns = operands_.value_features();
        for (index_t h = 0; h < lanes_.heads; h += together_) {
            auto const value = [&](index_t e) FOVEA_LAMBDA {
                return operands_.value.place(row.batch, key_head_(h), listed[static_cast<std::size_t>(e)], 0);
            };
            kernel::accumulate_listed<Excluding, T, Arch>(
                spec_.aggregate, {scores_ + h, before_ + h, factors_ + h, lanes_.padded_heads, std::ssize(listed)},
                head_of_, columns % width == 0, value, together_ * columns,
                operands_.result.place(row.batch, h, row.q_idx, 0));
        }
    }

    void copy_selected(kernel::row_coordinates const& row) const {
        using out = std::remove_cvref_t<decltype(operands_.result(0, 0, 0, 0))>;
        for (index_t h = 0; h < lanes_.heads; ++h) {
            out* const to = operands_.result.place(row.batch, h, row.q_idx, 0);
            for (index_t c = 0; c < operands_.value_features(); ++c)
                to[c] = selected_[h] < 0
                          ? out{0}
                          : static_cast<out>(*operands_.value.place(row.batch, key_head_(h), selected_[h], c));
        }
    }

    Spec const& spec_;
    Operands const& operands_;
    kernel::head_lanes const& lanes_;
    key_head_of key_head_{operands_.group()};
    index_t together_;                        // heads whose values, and results, are contiguous
    T* scores_;                               // (keys, head lanes)
    T* before_;                               // the scores before they became weights
    T* row_;                                  // (keys) of one head
    T* row_before_;                           // (keys)
    std::int32_t* keys_;                      // (keys), the last one repeated
    T* factors_;                              // (period): one for the weights of each head
    index_t* selected_;                       // (heads)
    kernel::integer_like<T> const* head_of_;  // (columns of a row) its head
};

}  // namespace fovea::FOVEA_SET::driver

namespace fovea::FOVEA_SET::driver {

inline constexpr index_t positions_of_task = 1024;  // queries, or keys; a multiple of any width

/// The indices of one query of one head, and the sizes of its call.
template <class Operands>
kernel::row_coordinates facts_of(Operands const& operands, index_t batch, index_t head, index_t q) {
    return {batch, head, q, operands.queries(), operands.keys(), operands.features(), operands.exact};
}

/// From the values of one term to those of the next; whole vectors, so that tasks do not write into each other's.
template <class T, class Arch>
index_t term_stride(kernel::head_lanes const& lanes, index_t positions) {
    return round_up(lanes.pairs(positions), kernel::pack<T, Arch>::lanes);
}

/// Computes the terms of one side for all positions and heads: (batch, term, position, head lanes).
template <kernel::side Side, class T, class Arch, class Executor, class Operands, class Terms>
void compute_side_terms(Executor const& executor, Operands const& operands, kernel::head_lanes const& lanes,
                        Terms const& terms, T* to) {
    constexpr index_t width = kernel::pack<T, Arch>::lanes;
    if constexpr (plan::count_of<Terms> > 0) {
        constexpr bool of_key = Side == kernel::side::key;
        auto const& operand = [&]() -> auto const& {
            if constexpr (of_key) return operands.key;
            else return operands.query;
        }();
        index_t const n = operand.extent(2), features = operand.extent(3), group = of_key ? operands.group() : 1;
        key_head_of const key_head(group);
        bool joined =
            group == 1 && !operands.exact && kernel::fills_vectors<T, Arch>(features, head_stride(operand), lanes);
        plan::for_each_part(
            terms, [&](auto const& t) { joined = joined && kernel::joins_heads(t.expression, lanes.heads, features); });
        index_t const tasks = ceil_div(n, positions_of_task);
        executor.run(operands.batches() * tasks, [&](index_t task, index_t) {
            index_t const batch = task / tasks, first = task % tasks * positions_of_task,
                          last = std::min(first + positions_of_task, n);
            batch_rows<std::remove_cvref_t<decltype(operand)>> const features_of(operand, batch);
            for (index_t pair = lanes.pairs(first); pair < lanes.pairs(last); pair += width) {
                auto const row = facts_of(operands, batch, 0, 0);
                auto const pairs = [row, key_head, features_of](index_t position, index_t head) FOVEA_LAMBDA {
                    auto const* place = features_of(key_head(head), position);
                    auto here = row;
                    here.head = head;
                    if constexpr (!of_key) here.q_idx = position;
                    using element = std::remove_cvref_t<decltype(*place)>;
                    return kernel::pair_rows<element, element>{here, position, 0, place, place};
                };
                auto const sums = [&](auto const& body, auto const& over) FOVEA_LAMBDA {
                    return kernel::head_sums_over<T, Arch>(over, body, lanes, pair, n, pairs, {features, features},
                                                           joined);
                };
                kernel::side_environment<Side, T, Arch, decltype(sums)> const here{{row}, lanes, pair, sums};
                T* place = to + batch * plan::count_of<Terms> * term_stride<T, Arch>(lanes, n) + pair;
                plan::for_each_part(terms, [&](auto const& t) {
                    kernel::value_in_lanes<T, Arch>(t.expression, here).store(place);
                    place += term_stride<T, Arch>(lanes, n);
                });
            }
        });
    }
}

}  // namespace fovea::FOVEA_SET::driver
