// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a table of conditions is a mask by mask_tensor(table)
#include <fovea/core/tensor.hpp>
#include <fovea/mask/mask_tensor.hpp>

using namespace fovea;

tensor<bool, 2> const visible({4, 4}, true);

#ifdef FOVEA_BROKEN
[[maybe_unused]] auto const mine = where(visible);
#else
[[maybe_unused]] auto const mine = mask_tensor(visible);
#endif
