// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The running states that rows measure, forward and back.
#pragma once

#include "bench/measure.hpp"
#include "bench/pair_rows.hpp"
#include "bench/yardstick/random.hpp"

#include <cmath>
#include <string>

namespace bench {

/// Calls f(family, spec, shape, corrects) for sums, decays, gates by feature and the delta rule, which corrects what is
/// added by what is there, on one thread and on two.
template <class F>
void for_each_state_row(F const& f) {
    constexpr auto state = fovea::scaled_dot | fovea::causal | fovea::unnormalized | fovea::running_state;
    static auto const gates = [] {
        auto drawn = yardstick::random_tensor<float, 4>({1, 1, 4096, 64}, 7, 0.05);
        for (float& x : drawn.elements) x = -std::abs(x);
        return drawn;
    }();
    for (shape const& s : {shape{.length = 4096, .size = 64}, {.length = 4096, .size = 64, .threads = 2}}) {
        f("state", state, s, false);
        f("state_decay", state | fovea::gated(-0.05f), s, false);
        f("state_gates", state | fovea::gated(gates), s, false);
        f("state_delta", state | fovea::delta(0.01f), s, true);
    }
}

/// So many products of a row with the state for each step.
inline work state_work(shape const& s, index_t products) {
    return {.flops = 2.0 * static_cast<double>(products * s.heads * s.length * s.size * s.size), .threads = s.threads};
}

}  // namespace bench
