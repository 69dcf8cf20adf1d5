// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/workspace.hpp>
#include <fovea/kernel/accumulate.hpp>
#include <fovea/kernel/prepare.hpp>
#include <fovea/plan/tile.hpp>
#include <fovea/spec/projected_shapes.hpp>

namespace fovea::driver {

/// A sum of products, for the register tile of matrix products.
struct plain_sum {
    static constexpr bool linear = true;
};

/// matrix_product: rows of features through a linear map, the bias added.
///
///     to[b, n, :] = from[b, n, :] W + bias          from, to: (batch, 1, position, feature)
///
/// One panel of columns at a time: its part of the matrix is packed once and met with all rows.
template <class T, class Arch, class Map, class From, class To, class Executor>
void matrix_product(Executor const& executor, workspace& scratch, Map const& map, view<From, 4> const& from,
                    view<To, 4> const& to) {
    using tile = plan::tile<T, Arch>;
    index_t const inputs = inputs_of(map), outputs = outputs_of(map);
    index_t const positions = from.extent(2), rows = from.extent(0) * positions;
    index_t const panels = (outputs + tile::panel - 1) / tile::panel;
    executor.run(panels, [&](index_t p, index_t worker) {
        auto& memory = scratch.worker(worker);
        memory.clear();
        index_t const first = p * tile::panel, columns = std::min(tile::panel, outputs - first);
        T* const panel = memory.take<T>(inputs * tile::panel);           // (inputs, panel)
        T* const row_copies = memory.take<T>(tile::rows * inputs);        // (rows, inputs)
        T* const sums = memory.take<T>(index_t{tile::rows} * tile::panel);  // (rows, panel)
        T ones[tile::rows], bias[tile::panel] = {};
        std::fill_n(ones, tile::rows, T{1});
        for (index_t c = 0; c < columns && has_bias(map); ++c) bias[c] = static_cast<T>(map.bias(first + c));
        for (index_t i = 0; i < inputs; ++i)
            for (index_t c = 0; c < tile::panel; ++c)
                panel[i * tile::panel + c] =
                    c >= columns ? T{0} : static_cast<T>(Map::is_transposed ? map.matrix(first + c, i) : map.matrix(i, first + c));
        for (index_t r = 0; r < rows; r += tile::rows) {
            index_t const count = std::min<index_t>(tile::rows, rows - r);
            for (index_t i = 0; i < tile::rows; ++i) {
                index_t const row = std::min(r + i, rows - 1);
                auto const* x = from.place(row / positions, index_t{0}, row % positions, index_t{0});
                for (index_t c = 0; c < inputs; ++c) row_copies[i * inputs + c] = static_cast<T>(x[c]);
                std::copy_n(bias, tile::panel, sums + i * tile::panel);
            }
            kernel::accumulate<tile::rows, tile::vectors, T, Arch>(plain_sum{}, row_copies, inputs, inputs, panel, tile::panel,
                                                                   sums, tile::panel, ones);
            for (index_t i = 0; i < count; ++i) {
                index_t const row = r + i;
                auto* y = to.place(row / positions, index_t{0}, row % positions, first);
                for (index_t c = 0; c < columns; ++c) y[c] = static_cast<To>(sums[i * tile::panel + c]);
            }
        }
    });
}

}  // namespace fovea::driver
