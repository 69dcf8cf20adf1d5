// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: the ids of documents are (position) or (batch, position)
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/document.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/dot.hpp>

using namespace fovea;

void call(view<float const, 3> x, view<int const, 3> of_each_head, view<int const, 2> ids, view<float, 3> y) {
#ifdef FOVEA_BROKEN
    attend(dot | document(of_each_head) | softmax | weighted_sum, x, y);
#else
    attend(dot | document(ids) | softmax | weighted_sum, x, y);
#endif
    static_cast<void>(of_each_head);
    static_cast<void>(ids);
}
