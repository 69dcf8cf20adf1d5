// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this does not convert to a view: pass a view, a tensor, a container of numbers, an mdspan, a
// row-major matrix or what container_traits knows
#include <fovea/project/linear.hpp>

using namespace fovea;

void call([[maybe_unused]] view<float const, 2> matrix) {
#ifdef FOVEA_BROKEN
    static_cast<void>(linear(17));
#else
    static_cast<void>(linear(matrix));
#endif
}
