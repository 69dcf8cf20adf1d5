// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums of listed values, several heads in a vector: SpMM.
#pragma once

#include <fovea/kernel/lane_groups.hpp>
#include <fovea/kernel/product/accumulate.hpp>
#include <fovea/simd/storage.hpp>
#include <fovea/spec/concepts.hpp>

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
