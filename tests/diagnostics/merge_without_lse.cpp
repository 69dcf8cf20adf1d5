// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: merge takes pairs of a result and its lse, then the view to write
#include <fovea/driver/merge.hpp>

using namespace fovea;

void call(view<float, 2> part, view<float, 1> sums, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    merge(part, result);
#else
    merge(part, sums, result);
#endif
}
