// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this table has another number of axes than the word reads
#include <fovea/core/tensor.hpp>
#include <fovea/score/relative_bias.hpp>

using namespace fovea;
using namespace fovea::placeholders;

tensor<float, 2> const table({8, 9});
tensor<float, 1> const one_head({9});

#ifdef FOVEA_BROKEN
auto made = relative_bias(one_head);
#else
auto made = relative_bias(table);
#endif
