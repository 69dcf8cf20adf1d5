// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What nearly every test includes, precompiled. A test names what it uses all the same.
#pragma once

#include <fovea/fovea.hpp>
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

// The products of other widths are compiled once as well (tests/compiled/).
#if defined(FOVEA_COMPILED) && defined(FOVEA_TEST_EMULATED)
namespace fovea::FOVEA_SET::driver {
extern template struct products<float, arch::emulated<16>>;
extern template struct products<double, arch::emulated<16>>;
extern template struct products<float, arch::emulated<32>>;
extern template struct products<double, arch::emulated<32>>;
extern template struct products<float, arch::emulated<64, 32>>;
extern template struct products<double, arch::emulated<64, 32>>;
}  // namespace fovea::FOVEA_SET::driver
#endif
