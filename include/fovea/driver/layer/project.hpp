// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operands after their projections and the maps of their heads.
#pragma once

#include <fovea/driver/layer/feature_row.hpp>
#include <fovea/driver/layer/matrix_product.hpp>
#include <fovea/spec/head_map_rows.hpp>
#include <fovea/spec/shapes.hpp>

namespace fovea::FOVEA_SET::driver {

/// The maps of each head, one after the other on each row of `rows`; a row is first copied from `source` where that
/// lies elsewhere. What is the same for all heads of a position is prepared once.
template <class T, class Arch, class Map, class Source, class Executor>
void map_heads(Executor const& executor, workspace& scratch, Map const& map, view<Source, 4> const& source,
               view<T, 4> const& rows) {
    constexpr index_t positions_at_once = 64;
    index_t const features = rows.extent(3), positions = rows.extent(2);
    index_t const blocks = ceil_div(positions, positions_at_once);
    executor.run(rows.extent(0) * blocks, [&](index_t task, index_t worker) {
        auto& memory = scratch.worker(worker);
        memory.clear();
        T* const numbers = memory.take<T>(prepared_numbers(map, features));
        index_t const batch = task / blocks, begin = task % blocks * positions_at_once;
        for (index_t n = begin; n < std::min(begin + positions_at_once, positions); ++n) {
            prepare_head_maps(map, numbers, features, head_place{batch, 0, n});
            for (index_t h = 0; h < rows.extent(1); ++h) {
                T* const row = rows.place(batch, h, n, index_t{0});
                auto const* const from = source.place(batch, h, n, index_t{0});
                if (static_cast<void const*>(from) != row)
                    for (index_t c = 0; c < features; ++c) row[c] = static_cast<T>(from[c]);
                T const* prepared = numbers;
                kernel::feature_row<T, Arch> const all{row, features};
                for_each_head_map(map, [&](auto const& each) {
                    prepared = apply_head_map(each, all, head_place{batch, h, n}, prepared);
                });
            }
        }
    });
}

/// True where the rows that a map makes are those of its source.
template <class Map>
inline constexpr bool makes_no_rows = !successive_map<Map> && !headwise_map<Map> && !linear_map<Map>;
template <class First, class Second>
inline constexpr bool makes_no_rows<successive<First, Second>> = makes_no_rows<First> && makes_no_rows<Second>;

/// A source through a row map, cut into heads: a view of the source itself, or rows in scratch memory.
template <class T, class Arch, class Map, class Source, class Executor>
auto projected_rows(Executor const& executor, workspace& scratch, Map const& map, view<Source, 4> const& source,
                    index_t heads) {
    if constexpr (successive_map<Map>) {
        return projected_rows<T, Arch>(executor, scratch, map.second,
                                       projected_rows<T, Arch>(executor, scratch, map.first, source, 1), heads);
    } else if constexpr (linear_map<map_below<Map>>) {
        auto const& below = row_map_below(map);
        auto const rows = fresh_rows<T>(scratch, {source.extent(0), 1, source.extent(2), outputs_of(below)});
        matrix_product<T, Arch>(executor, scratch, below, source, rows);
        auto const split = split_heads(rows, heads, "projection");
        if constexpr (headwise_map<Map>) map_heads<T, Arch>(executor, scratch, map, split, split);
        return split;
    } else {
        auto const split = heads == 1 ? source : split_heads(source, heads, "source");
        if constexpr (headwise_map<Map>) {
            auto const rows = fresh_rows<T>(scratch, split.extents);
            map_heads<T, Arch>(executor, scratch, map, split, rows);
            return rows;
        } else {
            return split;
        }
    }
}

/// The same, to be read.
template <class T, class Arch, class Map, class Source, class Executor>
auto project(Executor const& executor, workspace& scratch, Map const& map, view<Source, 4> const& source,
             index_t heads) {
    using element = std::conditional_t<makes_no_rows<Map>, Source, T>;
    return view<element const, 4>(projected_rows<T, Arch>(executor, scratch, map, source, heads));
}

/// True where two roles may read the same source through the same matrix, by the types of maps and sources; and where
/// they do.
template <class MapA, class MapB, class A, class B>
inline constexpr bool may_be_shared =
    linear_map<std::remove_cvref_t<MapA>> && std::is_same_v<std::remove_cvref_t<MapA>, std::remove_cvref_t<MapB>>
    && std::is_same_v<std::remove_cvref_t<A>, std::remove_cvref_t<B>>;
template <class MapA, class MapB, class A, class B>
bool same_projection(MapA const& a, MapB const& b, view<A, 4> const& x, view<B, 4> const& y) {
    if constexpr (may_be_shared<MapA, MapB, A, B>)
        return a.matrix.data == b.matrix.data && a.matrix.strides == b.matrix.strides
            && a.matrix.extents == b.matrix.extents && has_bias(a) == has_bias(b)
            && (!has_bias(a) || a.bias->data == b.bias->data) && x.data == y.data && x.strides == y.strides
            && x.extents == y.extents;
    else return false;
}

/// Calls f(queries, keys, values) with the operands of a call after its projection; what two roles share is computed
/// once.
template <class T, class Arch, class A, class Call, class Executor, class F>
void with_projected(Executor const& executor, workspace& scratch, A const& a, Call const& call, F const& f) {
    auto const& q = call.query;
    if constexpr (projection<decltype(a.project)>) {
        using heads = typename std::remove_cvref_t<decltype(a.project)>::heads_type;
        auto const& p = a.project;
        auto const x = project<T, Arch>(executor, scratch, p.query, q, heads::query);
        auto const y = [&] {
            if constexpr (may_be_shared<decltype(p.query), decltype(p.key), decltype(q), decltype(call.key)>)
                if (heads::group == 1 && same_projection(p.query, p.key, q, call.key)) return x;
            return project<T, Arch>(executor, scratch, p.key, call.key, heads::key_value);
        }();
        auto const z = [&] {
            if constexpr (may_be_shared<decltype(p.key), decltype(p.value), decltype(call.key), decltype(call.value)>)
                if (same_projection(p.key, p.value, call.key, call.value)) return y;
            return project<T, Arch>(executor, scratch, p.value, call.value, heads::key_value);
        }();
        f(x, y, z);
    } else {
        f(q, call.key, call.value);
    }
}

}  // namespace fovea::FOVEA_SET::driver
