// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this is not a normalizer: give it weight(score), or state with fold, merge and finish, or
// normalize(row)
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

struct squared_t : stage<role::normalizer> {
#ifdef FOVEA_BROKEN
    double weigh(double score) const { return score * score; }
#else
    template <class V>
    static constexpr V weight(V score) {
        return score * score;
    }
#endif
};

auto composed = scaled_dot | squared_t{} | weighted_sum;
