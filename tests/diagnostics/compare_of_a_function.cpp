// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: compare takes an expression of q and k, such as sum(q * k)
#include <fovea/score/compare.hpp>

using namespace fovea;
using namespace fovea::placeholders;

#ifdef FOVEA_BROKEN
auto made = compare([](auto a, auto b) { return sum(a * b); });
#else
auto made = compare(sum(q * k));
#endif
