// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls of ten specifications, as the rest of a program sees them.
#pragma once

#include <fovea/core/view.hpp>

using rows_read = fovea::view<float const, 4>;
using rows_written = fovea::view<float, 4>;

/// The attention of specification N, from 0 to 9.
template <int N>
void run(rows_read query, rows_read key, rows_read value, rows_written to);
