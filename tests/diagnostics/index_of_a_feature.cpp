// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: the index of a table is the same for all features: it cannot use q or k
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/compare.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result, view<float const, 1> table) {
    auto const read = param(table);
#ifdef FOVEA_BROKEN
    attend(compare(sum(q * k * read[select(k > 0.f, 1, 0)])) | softmax | weighted_sum, x, result);
#else
    attend(compare(sum(q * k * select(k > 0.f, read[1], read[0]))) | softmax | weighted_sum, x, result);
#endif
}
