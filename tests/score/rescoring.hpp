// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/reference/environment.hpp>

/// A score and the indices of its pair, as a rescoring sees them.
struct pair_with_score : fovea::reference::index_environment<double> {
    double value = 0;
    using fovea::reference::index_environment<double>::operator();
    double operator()(fovea::score_t) const { return value; }
};

/// The score after a rescoring at (batch, head, query, key).
template <class Rescoring>
double rescored_to(Rescoring const& r, double score, fovea::index_t batch = 0, fovea::index_t head = 0,
                   fovea::index_t query = 0, fovea::index_t key = 0) {
    pair_with_score at{{{}, batch, head, query, key, 64, 64, 4}, score};
    return static_cast<double>(evaluate(r.expression(), at));
}
