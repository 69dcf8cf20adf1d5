// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is known of the rows of softmax before they are differentiated, on the rank that holds them and on others.
#pragma once

#include <fovea/driver/dense/backward/gradient_call.hpp>
#include <fovea/driver/run/workspace.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::mpi::detail {

/// m, l and D of rows, as they are sent: planes of one array, (batch, plane and head, position, 1).
template <class T>
struct statistics_of_rows {
    view<T, 4> all;

    view<T, 3> plane(index_t n) const {
        index_t const heads = all.extent(1) / 3;
        return {all.data + n * heads * all.stride(1),
                {all.extent(0), heads, all.extent(2)},
                {all.stride(0), all.stride(1), all.stride(2)}};
    }
    void copy(view<T const, 3> const& from, index_t n) const {
        auto const to = plane(n);
        for (index_t b = 0; b < to.extent(0); ++b)
            for (index_t h = 0; h < to.extent(1) && to.extent(2) > 0; ++h)
                std::copy_n(from.place(b, h, index_t{0}), to.extent(2), to.place(b, h, index_t{0}));
    }
    driver::known_rows<std::remove_const_t<T>> known() const { return {plane(0), plane(1), plane(2)}; }
};

/// D of all rows, from their result and its gradient.
template <class Arch, class T, class Executor, class D>
void find_deltas(Executor const& executor, workspace& scratch, view<T const, 4> const& result,
                 view<D const, 4> const& d_result, statistics_of_rows<T> const& of) {
    auto const& n = d_result.extents;
    index_t const width = round_up(n[3], kernel::pack<T, Arch>::lanes);
    executor.run(n[0] * n[1], [&](index_t task, index_t worker) {
        auto& memory = scratch.worker(worker);
        memory.clear();
        T* const row = memory.template take<T>(width);
        index_t const b = task / n[1], h = task % n[1];
        for (index_t q = 0; q < n[2]; ++q) {
            kernel::convert_row<T, Arch>(d_result.place(b, h, q, index_t{0}), n[3], row);
            of.plane(2)(b, h, q) = driver::delta_of_row<T, Arch>(result.place(b, h, q, index_t{0}), row, n[3]);
        }
    });
}

}  // namespace fovea::FOVEA_SET::mpi::detail
