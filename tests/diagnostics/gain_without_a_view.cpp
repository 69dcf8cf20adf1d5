// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this does not convert to a view: pass a view, a tensor, a container of numbers, an mdspan, a
// row-major matrix or what container_traits knows
#include <fovea/expr/param.hpp>
#include <fovea/project/rms_normalized.hpp>

#include <vector>

using namespace fovea;

std::vector<float> const gain(8, 1.f);

#ifdef FOVEA_BROKEN
[[maybe_unused]] auto const normalized_by_gain = rms_normalized(param(gain));
#else
[[maybe_unused]] auto const normalized_by_gain = rms_normalized(gain);
#endif
