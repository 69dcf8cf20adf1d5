// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this is a table and no expression: a variable named q or k hides the placeholder (rename it, or
// write placeholders::q), and a table enters by param(table)
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
