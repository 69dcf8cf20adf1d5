// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// Numbers for expressions that the compiler draws: the next seed after a step, and a choice among some.
namespace drawn {

constexpr unsigned next(unsigned seed, unsigned step) {
    return (seed + step) * 2654435761u ^ (seed >> 7) ^ (step << 11);
}
constexpr unsigned pick(unsigned seed, unsigned count) { return (seed >> 13) % count; }

}  // namespace drawn
