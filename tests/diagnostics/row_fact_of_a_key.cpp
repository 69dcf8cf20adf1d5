// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a number that a normalizer takes for a whole row may not depend on the key
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

/// Weights score / n, n a number of the row.
struct shared_t : stage<role::normalizer> {
    struct of_row : stage<role::normalizer> {
        double n;
        template <class V>
        V weight(V const& score) const {
            return score * V(static_cast<float>(1 / n));
        }
    };
    template <class Facts>
    of_row for_row(Facts const& at) const {
        using namespace placeholders;
#ifdef FOVEA_BROKEN
        return {{}, static_cast<double>(at(1 + kv_idx))};
#else
        return {{}, static_cast<double>(at(1 + q_idx))};
#endif
    }
};

void call(view<float, 2> x, view<float, 2> result) { attend(scaled_dot | shared_t{} | weighted_sum, x, result); }
