// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a pointer does not say how many elements there are: write view(pointer, extents)
#include <fovea/driver/merge.hpp>

using namespace fovea;

void call(float const* first, float const* first_lse, float const* second, float const* second_lse, float* result) {
#ifdef FOVEA_BROKEN
    merge(first, first_lse, second, second_lse, result);
#else
    merge(view(first, {4, 8}), view(first_lse, {4}), view(second, {4, 8}), view(second_lse, {4}), view(result, {4, 8}));
#endif
}
