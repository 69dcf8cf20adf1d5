// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this is a table, not an expression: write param(table), or rename the variable q or k that hides the
// placeholder
#include <fovea/score/compare.hpp>

#include <vector>

using namespace fovea;

using namespace fovea::placeholders;

auto score_of(std::vector<float> const& v) {
#ifdef FOVEA_BROKEN
    return compare(sum(v * tanh(q + k)));
#else
    return compare(sum(param(v) * tanh(q + k)));
#endif
}
