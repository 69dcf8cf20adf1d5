// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is known of the rows of softmax before they are differentiated, on the rank that holds them and on others.
#pragma once

#include <fovea/driver/dense/gradient_call.hpp>
#include <fovea/driver/workspace.hpp>
#include <fovea/interop/mpi/ranks.hpp>
#include <fovea/interop/mpi/saved.hpp>

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
    driver::known_rows<std::remove_const_t<T>> known() const { return {plane(0), plane(1), plane(2)}; }
};

/// The same of the rows of this rank: m and l as all ranks have saved them, or from a forward call, which `attend`
/// makes with the outputs and the result that it is given. Collective.
template <class Arch, class T, class Executor, class D, class Attend>
statistics_of_rows<T> statistics_here(MPI_Comm comm, Executor const& executor, workspace& scratch,
                                      view<D const, 4> const& d_result, saved_rows<T> const* saved,
                                      Attend const& attend) {
    auto const& n = d_result.extents;
    statistics_of_rows<T> of{};
    view<T, 4> out{};
    view<T const, 4> result{};
    on_all(comm, [&] {
        of.all = driver::fresh_rows<T>(scratch, {n[0], 3 * n[1], n[2], 1});
        if (saved == nullptr) out = driver::fresh_rows<T>(scratch, n);
    });
    if (saved == nullptr) {
        attend(kept_statistics<T>{of.plane(0), of.plane(1)}, out);
        result = out;
    } else {
        result = saved->result();
        auto const copy = [&](view<T const, 3> const& from, view<T, 3> const& to) {
            for (index_t b = 0; b < n[0]; ++b)
                for (index_t h = 0; h < n[1] && n[2] > 0; ++h)
                    std::copy_n(from.place(b, h, index_t{0}), n[2], to.place(b, h, index_t{0}));
        };
        copy(saved->max(), of.plane(0));
        copy(saved->sum(), of.plane(1));
    }
    index_t const width = round_up(n[3], kernel::pack<T, Arch>::lanes);
    on_all(comm, [&] {
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
    });
    return of;
}

}  // namespace fovea::FOVEA_SET::mpi::detail
