// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The products of the dense traversals, once for all tests.
#include <fovea/driver/products.hpp>

namespace fovea::FOVEA_SET::driver {
template struct products<float, arch::best>;
template struct products<double, arch::best>;
}  // namespace fovea::FOVEA_SET::driver
