// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The three macros of the library; none appears in an interface.
#pragma once

#define FOVEA_INLINE [[gnu::always_inline]] inline
#define FOVEA_LAMBDA __attribute__((always_inline))
#define FOVEA_RESTRICT __restrict__
