// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: map takes an expression of out, such as elu(out)
#include <fovea/aggregate/map.hpp>

using namespace fovea;
using namespace fovea::placeholders;

#ifdef FOVEA_BROKEN
auto made = map(2.f);
#else
auto made = map(2.f * out);
#endif
