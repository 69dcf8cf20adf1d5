// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The dense engine for vectors of another width, once for all tests.
#include <fovea/driver/dense/pass/engine.hpp>

namespace fovea::FOVEA_SET::driver {
using emulated_64 = arch::emulated<64, 32>;
FOVEA_DENSE_ENGINE(, float, emulated_64)
FOVEA_DENSE_ENGINE(, double, emulated_64)
}  // namespace fovea::FOVEA_SET::driver
