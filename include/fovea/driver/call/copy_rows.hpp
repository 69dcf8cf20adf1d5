// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of features that are copied, in parallel.
#pragma once

#include <fovea/core/index.hpp>
#include <fovea/core/view.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// Copies rows of features, each number rounded to the other type, in tasks of a few hundred positions of a head.
template <class T, class From, class Executor>
void copy_rows(Executor const& executor, view<From, 4> const& from, view<T, 4> const& to) {
    constexpr index_t rows = 256;
    index_t const heads = from.extent(1), positions = from.extent(2), parts = ceil_div(positions, rows);
    executor.run(from.extent(0) * heads * parts, [&](index_t task, index_t) {
        index_t const first = task % parts * rows, head = task / parts % heads, batch = task / parts / heads;
        for (index_t n = first; n < std::min(first + rows, positions); ++n) {
            auto const* const row = from.place(batch, head, n, index_t{0});
            std::transform(row, row + from.extent(3), to.place(batch, head, n, index_t{0}),
                           [](auto x) { return static_cast<T>(x); });
        }
    });
}

}  // namespace fovea::FOVEA_SET::driver
