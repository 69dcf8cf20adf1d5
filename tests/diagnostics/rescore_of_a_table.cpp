// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a table that is added to the score is a rescoring by bias(table)
#include <fovea/core/tensor.hpp>
#include <fovea/score/bias.hpp>

using namespace fovea;

tensor<float, 2> const distances({4, 4}, 1);

#ifdef FOVEA_BROKEN
[[maybe_unused]] auto const mine = rescore(distances);
#else
[[maybe_unused]] auto const mine = bias(distances);
#endif
