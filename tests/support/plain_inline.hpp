// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stands in front of every test but those of kernels and of compositions: nothing is inlined by force. The loops
// compute the same, and the compiler reads each function once instead of at every place that calls it, which halves
// its time.
#pragma once

#include <fovea/core/config.hpp>

#undef FOVEA_INLINE
#define FOVEA_INLINE inline
#undef FOVEA_LAMBDA
#define FOVEA_LAMBDA
