// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/plan/architecture.hpp>

#include <tuple>

/// What is tested on every width: vectors of the machine, and of 4, 8 and 16 floats whatever it has. Tests that are
/// built for several instruction sets do the latter in one of them.
#ifdef FOVEA_TEST_EMULATED
using lane_widths =
    std::tuple<fovea::arch::best, fovea::arch::emulated<16>, fovea::arch::emulated<32>, fovea::arch::emulated<64, 32>>;
#else
using lane_widths = std::tuple<fovea::arch::best>;
#endif
