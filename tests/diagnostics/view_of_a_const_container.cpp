// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: these elements are const and cannot be written: view<T const, Rank> reads them
#include <fovea/core/view.hpp>

#include <vector>

using namespace fovea;

auto rows_of(std::vector<float> const& elements) {
#ifdef FOVEA_BROKEN
    return view<float, 2>(elements, {4, 8});
#else
    return view(elements, {4, 8});
#endif
}
