// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: the result is a temporary, destroyed at the end of the statement: give it a name
#include <fovea/core/tensor.hpp>
#include <fovea/driver/merge.hpp>

using namespace fovea;

void join(tensor<float, 2> const& a, tensor<float, 1> const& lse_a, tensor<float, 2>& result) {
#ifdef FOVEA_BROKEN
    merge(a, lse_a, a, lse_a, tensor<float, 2>(result.extents));
#else
    merge(a, lse_a, a, lse_a, result);
#endif
}
