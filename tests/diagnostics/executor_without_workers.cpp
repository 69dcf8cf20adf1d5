// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: an executor has bulk(n, f) const and workers() const: write bulk_executor(workers, function)
#include <fovea/fovea.hpp>

using namespace fovea;

/// Somebody's threads.
struct pool {
    void bulk(index_t n, auto const& f) {
        for (index_t i = 0; i < n; ++i) f(i);
    }
};

void call(pool& threads_of_mine, view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(threads_of_mine, scaled_dot | softmax | weighted_sum, x, result);
#else
    attend(bulk_executor(4, [&](index_t n, auto const& f) { threads_of_mine.bulk(n, f); }),
           scaled_dot | softmax | weighted_sum, x, result);
#endif
}
