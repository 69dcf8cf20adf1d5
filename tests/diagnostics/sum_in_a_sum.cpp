// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: sum() adds over the features of q and k: it contains no other sum, and no score
#include <fovea/score/compare.hpp>

using namespace fovea;

using namespace fovea::placeholders;

#ifdef FOVEA_BROKEN
[[maybe_unused]] constexpr auto mine = compare(sum(q * sum(k)));
#else
[[maybe_unused]] constexpr auto mine = compare(sum(q) * sum(k));
#endif
