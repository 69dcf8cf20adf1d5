// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: lse is a view of const elements and cannot be written
#include <fovea/driver/merge.hpp>

using namespace fovea;

void call(view<float, 2> part, view<float, 1> sums, view<float, 2> result, view<float, 1> all_sums) {
#ifdef FOVEA_BROKEN
    merge(part, sums, result, view<float const, 1>(all_sums));
#else
    merge(part, sums, result, all_sums);
#endif
}
