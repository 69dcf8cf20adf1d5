// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: reweight takes an expression of weight, such as weight * param(gate)[head]
#include <fovea/normalize/reweight.hpp>

using namespace fovea;
using namespace fovea::placeholders;

#ifdef FOVEA_BROKEN
auto made = reweight(0.5f);
#else
auto made = reweight(weight * 0.5f);
#endif
