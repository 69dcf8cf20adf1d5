// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Work that is done step by step between other work, so that two units of a processor run side by side.
#pragma once

#include <fovea/core/index.hpp>

#include <algorithm>
#include <type_traits>

namespace fovea::FOVEA_SET::kernel {

/// Work in steps: the next one may be the last, after which there is nothing left to do.
struct work_steps {
    void (*step)(work_steps&);

    void next() { step(*this); }
};
/// No such work.
struct no_steps {};

/// Packs between two steps: they take longer than the products of a step, and about half of them fit the reorder buffer
/// of a processor beside these.
inline constexpr index_t packs_per_step = 64;

/// Calls f(first, last) for all of `count` packs; some at a time, a step before each, where there is other work.
template <class Steps, class F>
FOVEA_INLINE void between_steps(Steps* steps, index_t count, F const& f) {
    if constexpr (!std::is_same_v<Steps, no_steps>)
        if (steps != nullptr) {
            for (index_t first = 0; first < count; first += packs_per_step) {
                steps->next();
                f(first, std::min(first + packs_per_step, count));
            }
            return;
        }
    f(index_t{0}, count);
}

}  // namespace fovea::FOVEA_SET::kernel
