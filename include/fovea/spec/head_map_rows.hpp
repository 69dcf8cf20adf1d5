// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The maps of heads on one row of features, and from the gradient of that row back through them.
#pragma once

#include <fovea/spec/headwise.hpp>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET {

/// How many numbers a map of heads prepares for each position.
template <head_map M>
constexpr index_t prepared_numbers(M const& map, index_t features) {
    if constexpr (prepared_head_map<M>) return map.prepared(features);
    else return 0;
}
/// Prepares them; what follows these is for the next map.
template <head_map M, class T>
T* prepare_head_map(M const& map, T* numbers, index_t features, head_place const& at) {
    if constexpr (prepared_head_map<M>) map.prepare(numbers, features, at);
    return numbers + prepared_numbers(map, features);
}
/// The numbers of all maps of heads of a row map.
template <row_map M>
constexpr index_t prepared_numbers(M const& map, index_t features) {
    index_t size = 0;
    for_each_head_map(map, [&](auto const& each) { size += prepared_numbers(each, features); });
    return size;
}
/// Prepares them, one map after the other.
template <row_map M, class T>
void prepare_head_maps(M const& map, T* numbers, index_t features, head_place const& at) {
    for_each_head_map(map, [&](auto const& each) { numbers = prepare_head_map(each, numbers, features, at); });
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

/// True where the gradients of rows need those before the maps: not where all of them are linear.
template <row_map M>
constexpr bool gradient_reads_rows() {
    if constexpr (headwise_map<M>)
        return !linear_head_map<decltype(M::second)> || gradient_reads_rows<decltype(M::first)>();
    else return false;
}
/// How many tables that can be trained the maps of heads have, given or not; their gradients need these rows as well.
template <row_map M>
inline constexpr std::size_t head_map_tables_in = 0;
template <headwise_map M>
inline constexpr std::size_t head_map_tables_in<M> =
    std::tuple_size_v<head_map_sums<decltype(M::second), double>> + head_map_tables_in<decltype(M::first)>;
/// Calls f with each table of the maps of heads that can be trained.
template <row_map M, class F>
constexpr void for_each_head_map_table(M const& map, F const& f) {
    for_each_head_map(map, [&](auto const& each) {
        if constexpr (head_map_with_tables<std::remove_cvref_t<decltype(each)>>)
            std::apply([&](auto const&... table) { ((table.data == nullptr ? void() : f(table)), ...); },
                       each.tables());
    });
}
/// Calls f with a table as it may be named: where it has one row, as that row, too.
template <class T, int Rank, class F>
constexpr void for_each_form(view<T const, Rank> const& table, F const& f) {
    f(table);
    if constexpr (Rank == 2)
        if (table.extent(0) == 1) f(view<T const, 1>(table.data, {table.extent(1)}, {table.stride(1)}));
}

/// The sums that all maps of heads add the gradients of their tables to, map by map: take(table) is the memory of one
/// that is given, or null; it is asked in the order of for_each_head_map_table.
template <class Number, row_map M, class Take>
constexpr auto sums_of_head_maps(M const& map, Take const& take) {
    if constexpr (headwise_map<M>) {
        auto first = sums_of_head_maps<Number>(map.first, take);
        using second = std::remove_cvref_t<decltype(map.second)>;
        if constexpr (head_map_with_tables<second>) {
            auto const beside = [&]<class T, int Rank>(view<T const, Rank> const& table) {
                return table.data == nullptr ? view<Number, Rank>{} : view<Number, Rank>(take(table), table.extents);
            };
            auto of_second =
                std::apply([&](auto const&... table) { return head_map_sums<second, Number>{beside(table)...}; },
                           map.second.tables());
            return std::tuple_cat(std::move(first), std::make_tuple(of_second));
        } else {
            return std::tuple_cat(std::move(first), std::make_tuple(std::tuple<>()));
        }
    } else {
        return std::tuple<>();
    }
}

/// The gradient of one row before a map of heads, from that after it: by its rule, or by what a linear map makes of
/// each unit vector. A row that nothing depends on has none, whatever it holds. `memory` is that of two rows.
template <head_map M, class Row, class T>
void head_map_gradient(M const& map, Row const& before, Row const& d, head_place const& at, T* memory, T const* numbers,
                       head_map_sums<M, T> const& sums) {
    index_t const n = d.size();
    T *const amounts = d.features, *const after = memory, *const column = memory + n;
    if (std::all_of(amounts, amounts + n, [](T amount) { return amount == 0; })) return;
    if constexpr (head_map_with_rule<M>) {
        with_rule_arguments<M>(numbers, sums, [&](auto const&... further) { map.gradient(before, d, at, further...); });
    } else {
        static_assert(linear_head_map<M>);  // asked before
        std::copy_n(amounts, n, after);
        for (index_t i = 0; i < n; ++i) {
            std::fill_n(column, n, T(0));
            column[i] = 1;
            static_cast<void>(apply_head_map(map, Row{column, n}, at, numbers));
            amounts[i] = std::inner_product(column, column + n, after, T(0));
        }
    }
}

/// The same through all maps of heads: forward on the way in, which changes `row`, back on the way out. `numbers` are
/// what the maps have prepared, `memory` is that of a row for each map and two more, `sums` are those of their tables.
template <row_map M, class Row, class T, class Sums, class Then>
void head_maps_gradient(M const& map, Row const& row, Row const& d, head_place const& at, T const* numbers, T* memory,
                        Sums const& sums, Then const& then) {
    if constexpr (headwise_map<M>) {
        head_maps_gradient(map.first, row, d, at, numbers, memory, sums, [&](T const* own, T* free) {
            Row const before{free, row.size()};
            std::copy_n(row.features, row.size(), before.features);
            T* const next = free + row.size();
            then(apply_head_map(map.second, row, at, own), next);
            head_map_gradient(map.second, before, d, at, next, own, std::get<head_maps_in<M> - 1>(sums));
        });
    } else {
        then(numbers, memory);
    }
}
template <row_map M>
constexpr index_t rows_of_head_maps_gradient(M const&) {
    return static_cast<index_t>(head_maps_in<M>) + 2;
}
template <row_map M, class Row, class T, class Sums>
void head_maps_gradient(M const& map, Row const& row, Row const& d, head_place const& at, T const* numbers, T* memory,
                        Sums const& sums) {
    head_maps_gradient(map, row, d, at, numbers, memory, sums, [](T const*, T*) {});
}

}  // namespace fovea::FOVEA_SET
