// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The part of the library that knows no specification, for programs with many: their units define FOVEA_COMPILED and
// find it here, if it is compiled for the same instruction set. CMake's fovea::compiled adds it to the target of each.
#include <fovea/core/prologue.hpp>

#include <fovea/core/memory_checks.hpp>
#include <fovea/core/messages.hpp>
#include <fovea/driver/dense/pass/engine.hpp>

namespace fovea::FOVEA_SET::driver {
FOVEA_DENSE_ENGINE(, float, arch::best)
FOVEA_DENSE_ENGINE(, double, arch::best)
}  // namespace fovea::FOVEA_SET::driver

#include <fovea/core/epilogue.hpp>
