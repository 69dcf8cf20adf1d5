// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Headers that nearly every test includes, precompiled. A test names what it uses all the same.
#pragma once

#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/testing/against_reference.hpp>
#include <fovea/testing/mask_laws.hpp>
#include <fovea/testing/normalizer_laws.hpp>
#include <fovea/testing/random.hpp>
#include <fovea/testing/score_laws.hpp>
#include <fovea/testing/tolerance.hpp>

#include "catch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

// The engine for vectors of other widths is compiled once as well (tests/compiled/).
#if defined(FOVEA_COMPILED) && defined(FOVEA_TEST_EMULATED)
namespace fovea::FOVEA_SET::driver {
using emulated_64 = arch::emulated<64, 32>;
FOVEA_DENSE_ENGINE(extern, float, arch::portable)
FOVEA_DENSE_ENGINE(extern, double, arch::portable)
FOVEA_DENSE_ENGINE(extern, float, emulated_64)
FOVEA_DENSE_ENGINE(extern, double, emulated_64)
#if FOVEA_TEST_LEVEL > 1
FOVEA_DENSE_ENGINE(extern, float, arch::emulated<32>)
FOVEA_DENSE_ENGINE(extern, double, arch::emulated<32>)
#endif
}  // namespace fovea::FOVEA_SET::driver
#endif
