// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The part of the engine that knows no specification, for programs with many: their units define FOVEA_COMPILED and
// find it here. It is compiled for the same instruction set as they are; where it is not, nothing it has is found.
#include <fovea/driver/products.hpp>

namespace fovea::FOVEA_SET::driver {
template struct products<float, arch::best>;
template struct products<double, arch::best>;
}  // namespace fovea::FOVEA_SET::driver
