// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The dense engine for vectors of another width, once for all tests.
#include <fovea/driver/dense/pass/engine.hpp>

namespace fovea::FOVEA_SET::driver {
FOVEA_DENSE_ENGINE(, float, arch::emulated<32>)
FOVEA_DENSE_ENGINE(, double, arch::emulated<32>)
}  // namespace fovea::FOVEA_SET::driver
