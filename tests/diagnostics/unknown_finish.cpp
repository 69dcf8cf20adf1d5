// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this is not a finish: give it linear(), expression(), averages_heads, concatenates_heads or
// adds_source
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

struct halved_t : stage<role::finish> {
    static constexpr std::string_view name = "halved";
#ifdef FOVEA_BROKEN
    float factor() const { return 0.5f; }
#else
    auto expression() const { return 0.5f * placeholders::out; }
#endif
};

void call(view<float, 2> x, view<float, 2> result) {
    reference::attend(scaled_dot | softmax | weighted_sum | halved_t{}, x, result);
}
