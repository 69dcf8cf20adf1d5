// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/matrix_product.hpp>
#include <fovea/spec/shapes.hpp>

namespace fovea::driver {

/// A source through a row map, cut into heads: a view of the source itself, or of scratch memory.
///
/// `done` is the projection of another role: where source and matrix are the same, it is shared.
template <class T, class Arch, class Map, class Source, class Executor>
auto project(Executor const& executor, workspace& scratch, Map const& map, view<Source, 4> const& source, index_t heads) {
    if constexpr (!linear_map<Map>) {
        return view<std::remove_const_t<Source> const, 4>(split_heads(source, heads, "source"));
    } else {
        extents_t<4> const extents{source.extent(0), 1, source.extent(2), outputs_of(map)};
        view<T, 4> const rows(scratch.shared().template take<T>(view<T, 4>(nullptr, extents).size()), extents);
        matrix_product<T, Arch>(executor, scratch, map, source, rows);
        return view<T const, 4>(split_heads(rows, heads, "projection"));
    }
}

/// True where two roles read the same source through the same matrix.
template <class MapA, class MapB, class A, class B>
bool same_projection(MapA const& a, MapB const& b, view<A, 4> const& x, view<B, 4> const& y) {
    if constexpr (linear_map<MapA> && std::is_same_v<MapA, MapB> && std::is_same_v<A, B>)
        return a.matrix.data == b.matrix.data && a.matrix.strides == b.matrix.strides && a.matrix.extents == b.matrix.extents &&
               a.bias.data == b.bias.data && x.data == y.data && x.strides == y.strides && x.extents == y.extents;
    else return false;
}

}  // namespace fovea::driver
