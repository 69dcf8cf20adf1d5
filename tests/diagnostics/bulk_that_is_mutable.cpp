// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: bulk_executor(workers, function) calls function(n, f), which is not mutable, with an f of any
// type: write auto const& f
#include <fovea/fovea.hpp>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result) {
    index_t calls = 0;
#ifdef FOVEA_BROKEN
    bulk_executor const counting(2, [calls](index_t n, auto const& f) mutable {
#else
    bulk_executor const counting(2, [&calls](index_t n, auto const& f) {
#endif
        for (index_t i = 0; i < n; ++i) f(i);
        ++calls;
    });
    attend(counting, scaled_dot | softmax | weighted_sum, x, result);
}
