// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The maps of heads on one row of features, and from the gradient of that row back through them.
#pragma once

#include <fovea/spec/headwise.hpp>

#include <algorithm>
#include <numeric>

namespace fovea::FOVEA_SET {

/// How many numbers the maps of heads prepare for each position.
template <row_map M>
constexpr index_t prepared_numbers(M const& map, index_t features) {
    index_t size = 0;
    for_each_head_map(map, [&](auto const& each) {
        if constexpr (prepared_head_map<std::remove_cvref_t<decltype(each)>>) size += each.prepared(features);
    });
    return size;
}
/// Prepares them, one map after the other.
template <row_map M, class T>
void prepare_head_maps(M const& map, T* numbers, index_t features, head_place const& at) {
    for_each_head_map(map, [&](auto const& each) {
        if constexpr (prepared_head_map<std::remove_cvref_t<decltype(each)>>) {
            each.prepare(numbers, features, at);
            numbers += each.prepared(features);
        }
    });
}

/// Applies one map to a row, with the numbers that it has prepared; what follows these is for the next map.
template <head_map M, class Row, class T>
FOVEA_INLINE T const* apply_head_map(M const& map, Row const& row, head_place const& at, T const* numbers) {
    if constexpr (prepared_head_map<M>) {
        map.apply(row, at, numbers);
        return numbers + map.prepared(row.size());
    } else {
        map.apply(row, at);
        return numbers;
    }
}

/// True where a gradient needs the rows before the maps: not where all of them are linear.
template <row_map M>
constexpr bool gradient_reads_rows() {
    if constexpr (headwise_map<M>) {
        constexpr bool linear = requires { requires decltype(M::second)::linear; };
        return !linear || gradient_reads_rows<std::remove_cvref_t<decltype(std::declval<M>().first)>>();
    } else {
        return false;
    }
}

/// The gradient of one row before a map of heads, from that after it: by its rule, or by what a linear map makes of
/// each unit vector. A row that nothing depends on has none, whatever it holds. `memory` is that of two rows.
template <head_map M, class Row, class T, class... Numbers>
void head_map_gradient(M const& map, Row const& before, Row const& d, head_place const& at, T* memory,
                       Numbers const*... numbers) {
    index_t const n = d.size();
    T *const amounts = d.features, *const after = memory, *const column = memory + n;
    if (std::all_of(amounts, amounts + n, [](T amount) { return amount == 0; })) return;
    if constexpr (requires { map.gradient(before, d, at, numbers...); }) {
        map.gradient(before, d, at, numbers...);
    } else {
        std::copy_n(amounts, n, after);
        for (index_t i = 0; i < n; ++i) {
            std::fill_n(column, n, T(0));
            column[i] = 1;
            map.apply(Row{column, n}, at, numbers...);
            amounts[i] = std::inner_product(column, column + n, after, T(0));
        }
    }
}

/// The same through all maps of heads: forward on the way in, which changes `row`, back on the way out. `numbers` are
/// what the maps have prepared, `memory` is that of a row for each map and two more.
template <row_map M, class Row, class T, class Then>
void head_maps_gradient(M const& map, Row const& row, Row const& d, head_place const& at, T const* numbers, T* memory,
                        Then const& then) {
    if constexpr (headwise_map<M>) {
        using second = std::remove_cvref_t<decltype(map.second)>;
        head_maps_gradient(map.first, row, d, at, numbers, memory, [&](T const* own, T* free) {
            Row const before{free, row.size()};
            std::copy_n(row.features, row.size(), before.features);
            T* const next = free + row.size();
            then(apply_head_map(map.second, row, at, own), next);
            if constexpr (prepared_head_map<second>) head_map_gradient(map.second, before, d, at, next, own);
            else head_map_gradient(map.second, before, d, at, next);
        });
    } else {
        then(numbers, memory);
    }
}
template <row_map M>
constexpr index_t rows_of_head_maps_gradient(M const& map) {
    index_t rows = 2;
    for_each_head_map(map, [&](auto const&) { ++rows; });
    return rows;
}
template <row_map M, class Row, class T>
void head_maps_gradient(M const& map, Row const& row, Row const& d, head_place const& at, T const* numbers, T* memory) {
    head_maps_gradient(map, row, d, at, numbers, memory, [](T const*, T*) {});
}

}  // namespace fovea::FOVEA_SET
