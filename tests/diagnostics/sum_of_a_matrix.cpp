// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this is a table, not an expression: write param(table), or rename the variable q or k that hides the
// placeholder
#include <fovea/score/compare.hpp>

using namespace fovea;

using namespace fovea::placeholders;

auto score_of(view<float, 2> table) {
#ifdef FOVEA_BROKEN
    return compare(sum(table));
#else
    return compare(sum(param(table)[kv_idx] * q));
#endif
}
