// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Adjacent positions of an array that holds some positions of a sequence.
#pragma once

#include <fovea/core/view.hpp>
#include <fovea/spec/part/of_part.hpp>

namespace fovea::FOVEA_SET::driver {

/// The rows of a run.
template <class T>
view<T, 4> rows_at(view<T, 4> const& all, position_run const& run) {
    return {all.place(index_t{0}, index_t{0}, run.place, index_t{0}),
            {all.extent(0), all.extent(1), run.count, all.extent(3)},
            all.strides};
}

}  // namespace fovea::FOVEA_SET::driver
