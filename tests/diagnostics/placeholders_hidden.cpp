// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this is a table, not an expression: write param(table), or rename the variable q or k that hides the
// placeholder
#include <fovea/core/tensor.hpp>
#include <fovea/score/compare.hpp>

using namespace fovea;

using namespace fovea::placeholders;

auto score_of(tensor<float, 2> const& query, tensor<float, 2> const& key) {
#ifdef FOVEA_BROKEN
    auto const &q = query, &k = key;
#endif
    static_cast<void>(query), static_cast<void>(key);
    return compare(sum(q * k));
}

[[maybe_unused]] auto const mine = score_of(tensor<float, 2>({4, 8}), tensor<float, 2>({4, 8}));
