// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The dense engine for vectors of another width, once for all tests.
#include <fovea/driver/dense/pass/engine.hpp>

namespace fovea::FOVEA_SET::driver {
FOVEA_DENSE_ENGINE(, float, arch::portable)
FOVEA_DENSE_ENGINE(, double, arch::portable)
}  // namespace fovea::FOVEA_SET::driver
