// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this is a table and no expression: a variable named q or k hides the placeholder (rename it, or
// write placeholders::q), and a table enters by param(table)
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
