// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this does not convert to a view: pass a view, a tensor, a container of numbers, an mdspan, a
// row-major matrix or what container_traits knows
#include <fovea/project/rotary.hpp>

using namespace fovea;

#ifdef FOVEA_BROKEN
[[maybe_unused]] auto const turned = rotary.positions(17);
#else
[[maybe_unused]] auto const turned = rotary.from(17);
#endif
